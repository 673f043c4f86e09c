"""Models of TensorFlow on disk."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["TFParser"]


class SavedModelGraph:
    """The graph of a SavedModel, for `from_tensorflow`, which reads folder and variables natively."""

    def __init__(self, folder: str, outputs: list[str]) -> None:
        self.folder, self.outputs = folder, outputs


class TFParser:
    """Finds the graph of a model: a SavedModel's folder, a folder of checkpoints, or a file with a frozen graph.

    `outputs` names the tensors that are wanted; a folder of checkpoints needs it, and TensorFlow installed.
    """

    def __init__(self, model_dir: str | os.PathLike, outputs: list[str] | None = None) -> None:
        self._model_dir = os.fspath(model_dir)
        self._outputs = list(outputs or [])

    def parse(self) -> Any:
        """What `from_tensorflow` takes: bytes of a GraphDef, or a SavedModel that is read when it is imported."""
        if os.path.isfile(self._model_dir):
            with open(self._model_dir, "rb") as file:
                return file.read()
        if os.path.exists(os.path.join(self._model_dir, "saved_model.pb")):
            return SavedModelGraph(self._model_dir, self._outputs)
        if not os.path.isdir(self._model_dir):
            raise RuntimeError(f"there is no TensorFlow model at {self._model_dir}")
        return self._load_checkpoint()

    def _load_checkpoint(self) -> bytes:
        """The graph of the newest checkpoint, frozen by TensorFlow."""
        import importlib

        tf = importlib.import_module("tensorflow.compat.v1")
        checkpoint = tf.train.get_checkpoint_state(self._model_dir)
        if checkpoint is None:
            raise RuntimeError(f"{self._model_dir} is neither a SavedModel nor a folder of checkpoints")
        if not self._outputs:
            raise RuntimeError("a checkpoint does not say what its outputs are; name them with outputs=[...]")
        path = checkpoint.model_checkpoint_path
        with tf.Graph().as_default(), tf.Session() as session:
            tf.train.import_meta_graph(path + ".meta", clear_devices=True).restore(session, path)
            nodes = [name.split(":")[0] for name in self._outputs]
            graph = tf.graph_util.convert_variables_to_constants(session, session.graph_def, nodes)
        return graph.SerializeToString()
