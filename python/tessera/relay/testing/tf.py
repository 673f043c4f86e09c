"""Graphs of TensorFlow for tests. TensorFlow is imported by the functions that need it."""

from __future__ import annotations

import importlib
import os
import re
import zipfile
from typing import Any

import numpy as np

from ...contrib.download import download_testdata
from ...contrib.tar import untar

__all__ = [
    "AddShapesToGraphDef",
    "NodeLookup",
    "PTBSmallConfig",
    "ProcessGraphDefParam",
    "convert_to_list",
    "do_tf_sample",
    "get_config",
    "get_workload",
    "get_workload_official",
    "get_workload_ptb",
    "pick_from_weight",
    "vmobj_to_list",
]

_MODELS = "https://github.com/dmlc/web-data/raw/main/tensorflow/models/"


def _tensorflow() -> Any:
    """Its first interface, also where TensorFlow 2 is installed."""
    try:
        return importlib.import_module("tensorflow.compat.v1")
    except ImportError:
        return importlib.import_module("tensorflow")


def convert_to_list(x: Any) -> list:
    """A list of one or of several."""
    return x if isinstance(x, list) else [x]


def vmobj_to_list(o: Any) -> list:
    """The tensors of a result of the virtual machine, tuples and lists of Relay taken apart."""
    if hasattr(o, "numpy"):
        return [o.numpy()]
    name = getattr(getattr(o, "constructor", None), "name_hint", None)
    fields = list(getattr(o, "fields", o))
    if name is None:
        return [tensor for part in fields for tensor in vmobj_to_list(part)]
    if name == "Nil":
        return []
    if name == "Cons":
        return [vmobj_to_list(fields[0]), *vmobj_to_list(fields[1])]
    if name.startswith("tensor"):
        return [fields[0].numpy()]
    raise RuntimeError(f"a value of {name} is no tensor, tuple or list")


def ProcessGraphDefParam(graph_def: Any) -> Any:
    """The graph as this TensorFlow reads it: what an older one left out gets its default."""
    tensorflow = _tensorflow()
    graph = tensorflow.Graph()
    with graph.as_default():
        tensorflow.import_graph_def(graph_def, name="")
    return graph.as_graph_def()


def AddShapesToGraphDef(session: Any, out_node: Any) -> Any:
    """The graph of a session with constants for variables, and the shapes of all nodes."""
    util = importlib.import_module("tensorflow.python.framework.graph_util")
    return util.convert_variables_to_constants(
        session, session.graph.as_graph_def(add_shapes=True), convert_to_list(out_node)
    )


class NodeLookup:
    """Names of ImageNet's classes, from the two files of Inception's demonstration."""

    def __init__(self, label_lookup_path: str | None = None, uid_lookup_path: str | None = None):
        self.node_lookup = self.load(label_lookup_path, uid_lookup_path)

    def load(self, label_lookup_path: str | None, uid_lookup_path: str | None) -> dict[int, str]:
        """Names by number: one file gives numbers of identifiers, the other names of identifiers."""
        for path in (uid_lookup_path, label_lookup_path):
            if path is None or not os.path.exists(path):
                raise FileNotFoundError(f"File does not exist {path}")
        names = {}
        with open(str(uid_lookup_path), encoding="utf-8") as file:
            for line in file:
                match = re.match(r"(n\d+)\s+(.*)", line.strip())
                if match:
                    names[match.group(1)] = match.group(2)
        with open(str(label_lookup_path), encoding="utf-8") as file:
            text = file.read()
        pairs = re.findall(r"target_class:\s*(\d+)\s*target_class_string:\s*\"([^\"]+)\"", text)
        missing = [uid for _, uid in pairs if uid not in names]
        if missing:
            raise ValueError(f"Failed to locate: {missing[0]}")
        return {int(number): names[uid] for number, uid in pairs}

    def id_to_string(self, node_id: int) -> str:
        """The name of a number, "" where there is none."""
        return self.node_lookup.get(node_id, "")


def _read_graph(path: str) -> Any:
    tensorflow = _tensorflow()
    graph_def = tensorflow.GraphDef()
    with open(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    return ProcessGraphDefParam(graph_def)


def get_workload_official(model_url: str, model_sub_path: str, retries: int = 5) -> str:
    """The path of a file inside an archive that `contrib.download` finds, unpacked beside it."""
    del retries
    archive = download_testdata(model_url, os.path.basename(model_url), module=["tf", "official"])
    folder = os.path.dirname(str(archive))
    if str(archive).endswith(("tgz", "gz")):
        untar(str(archive), folder)
    elif str(archive).endswith("zip"):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
    else:
        raise RuntimeError(f"Could not decompress the file: {archive}")
    return os.path.join(folder, model_sub_path)


def get_workload(
    model_path: str, model_sub_path: str | None = None, inputs_dict: Any = None, output: Any = None
) -> Any:
    """The graph of a model of TVM's collection, or of an archive (`model_path` its address, `model_sub_path` the file).

    With `inputs_dict` the parts that these inputs and `output` need.
    """
    if model_sub_path:
        path = get_workload_official(model_path, model_sub_path)
    else:
        path = str(download_testdata(_MODELS + model_path, model_path, module="tf"))
    graph_def = _read_graph(path)
    if inputs_dict is None:
        return graph_def
    tensorflow = _tensorflow()
    graph = tensorflow.Graph()
    with graph.as_default():
        inputs = {
            name: tensorflow.placeholder(array.dtype, array.shape, name) for name, array in dict(inputs_dict).items()
        }
        tensorflow.import_graph_def(graph_def, input_map=inputs, name="")
        with tensorflow.Session(graph=graph) as session:
            return AddShapesToGraphDef(session, output)


class PTBSmallConfig:
    """Sizes of the small language model of PTB."""

    num_layers = 2
    num_steps = 1
    hidden_size = 200
    batch_size = 1
    vocab_size = 10000
    init_scale = 0.1


def get_config() -> PTBSmallConfig:
    """The sizes of the language model of `get_workload_ptb`."""
    return PTBSmallConfig()


def pick_from_weight(weight: Any, pows: float = 1.0) -> int:
    """An index by chance, with these weights raised to a power."""
    weights = np.asarray(weight, "float64") ** pows
    total = np.cumsum(weights)
    return int(np.searchsorted(total, np.random.rand() * total[-1]))


def do_tf_sample(session: Any, data: Any, in_states: Any, num_samples: int) -> tuple[list[int], Any]:
    """Words that the language model goes on with after `data`, and its states."""

    def step(word: int, states: Any) -> tuple[Any, Any]:
        names = [
            "Model/Placeholder:0",
            "Model/RNN/zeros:0",
            "Model/RNN/zeros_1:0",
            "Model/RNN/zeros_2:0",
            "Model/RNN/zeros_3:0",
        ]
        values = [np.full((1, 1), word, "int32"), *states]
        results = session.run(
            [
                "Model/Softmax:0",
                *(f"Model/RNN/RNN/multi_rnn_cell/cell_0/lstm_cell/LSTMBlockCell{end}" for end in (":1", ":6")),
                *(f"Model/RNN/RNN/multi_rnn_cell/cell_0/lstm_cell/LSTMBlockCell_1{end}" for end in (":1", ":6")),
            ],
            feed_dict=dict(zip(names, values)),
        )
        return results[0], results[1:]

    probabilities, states = None, in_states
    for word in data:
        probabilities, states = step(word, states)
    samples: list[int] = []
    if num_samples > 0 and probabilities is not None:
        samples.append(pick_from_weight(probabilities[0]))
    while len(samples) < num_samples:
        probabilities, states = step(samples[-1], states)
        samples.append(pick_from_weight(probabilities[0]))
    return samples, states


def get_workload_ptb() -> tuple[dict[str, int], dict[int, str], Any]:
    """Words by number and numbers by word of PTB, and the graph of its language model."""
    folder = get_workload_official(
        "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz", os.path.join("simple-examples", "data")
    )
    with open(os.path.join(folder, "ptb.train.txt"), encoding="utf-8") as file:
        words = file.read().replace("\n", "<eos>").split()
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    word_to_id = {word: i for i, word in enumerate(ordered)}
    id_to_word = dict(enumerate(ordered))
    return word_to_id, id_to_word, get_workload("RNN/ptb/ptb_model_with_lstmblockcell.pb")
