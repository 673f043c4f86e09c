"""TensorFlow graphs as Relay. The importer itself is part of the core; see src/frontend/tensorflow."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .tensorflow_parser import SavedModelGraph

__all__ = ["from_tensorflow"]

_CONFIG = {"use_dense": True, "use_nt_batch_matmul": True}
_LAYOUTS = ("NHWC", "NCHW", "NDHWC", "NCDHW")


def _bytes_of(graph: Any) -> bytes:
    """A GraphDef as the file that it would be."""
    if isinstance(graph, (bytes, bytearray, memoryview)):
        return bytes(graph)
    if hasattr(graph, "as_graph_def"):  # a tf.Graph
        graph = graph.as_graph_def(add_shapes=True)
    if not hasattr(graph, "SerializeToString"):
        raise ValueError(
            f"a TensorFlow graph is a GraphDef, its bytes, or the path of a file or SavedModel, not {type(graph).__name__}"
        )
    return graph.SerializeToString()


def import_graph(
    graph: Any, layout: str | None, shape: Any, outputs: Any, signature: str = ""
) -> tuple[IRModule, dict[str, Any]]:
    """Graphs of both versions of TensorFlow, from objects and from files."""
    if layout and layout not in _LAYOUTS:
        raise NotImplementedError(f"the layout {layout} is not supported; the layouts are {', '.join(_LAYOUTS)}")
    shapes = {str(name): [-1 if e is None else e for e in extents] for name, extents in (shape or {}).items()}
    names = [outputs] if isinstance(outputs, str) else [str(name) for name in outputs or []]
    wanted = "NCHW" if layout in ("NCHW", "NCDHW") else ""
    if isinstance(graph, SavedModelGraph):
        names, graph = names or graph.outputs, graph.folder
    if isinstance(graph, (str, os.PathLike)) and os.path.isdir(graph):
        run = get_global_func("frontend.tensorflow.import_saved_model")
        mod, params = run(os.fspath(graph), signature, shapes, names, wanted)
    else:
        if isinstance(graph, (str, os.PathLike)):
            with open(graph, "rb") as file:
                graph = file.read()
        mod, params = get_global_func("frontend.tensorflow.import_bytes")(_bytes_of(graph), shapes, names, wanted)
    return mod, dict(params.items())


def from_tensorflow(
    graph: Any,
    layout: str = "NHWC",
    shape: dict[str, Any] | None = None,
    outputs: list[str] | None = None,
    convert_config: dict[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a graph of TensorFlow: a `GraphDef`, its bytes, or the path of a file or SavedModel.

    `shape` gives placeholders shapes by name, `outputs` names the tensors to compute (the results of the last node where it is
    left out, of a SavedModel those of its signature). With `layout="NCHW"` convolutions and pools of images are computed with
    channels first, between transposes. The options of `convert_config` are accepted; matmuls take the form that is
    fastest whatever they say.
    """
    if unknown := set(convert_config or {}) - set(_CONFIG):
        raise ValueError(f"convert_config has no option {', '.join(sorted(unknown))}; it has {', '.join(_CONFIG)}")
    return import_graph(graph, layout, shape, outputs)
