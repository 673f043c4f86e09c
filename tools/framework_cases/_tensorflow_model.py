"""Graphs of TensorFlow of one operator, and what a session and Tessera make of them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import Case, Pairs
from ._tflite_model import tessera_answers

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


class Fixed:
    """A constant of the graph, where an array is an input."""

    def __init__(self, value: Any, dtype: str = "int32") -> None:
        self.value = np.asarray(value, dtype)


def floats(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    return np.random.RandomState(seed).uniform(low, high, shape).astype("float32")


def ints(*shape: int, seed: int = 0, low: int = -9, high: int = 9, dtype: str = "int32") -> np.ndarray:
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


def tensorflow() -> Any:
    return importlib.import_module("tensorflow")


class Feeds:
    """Placeholders of a graph, by the arrays that they are given."""

    def __init__(self) -> None:
        self.values: dict[Any, np.ndarray] = {}

    def tensor(self, value: Any, shape: Sequence[int | None] | None = None) -> Any:
        """What stands for a value in the graph; lists are converted item by item, attributes stay what they are."""
        if isinstance(value, list) and value and isinstance(value[0], (np.ndarray, Fixed)):
            return [self.tensor(item) for item in value]
        if isinstance(value, Fixed):
            return tensorflow().constant(value.value)
        if not isinstance(value, np.ndarray):
            return value
        extents = value.shape if shape is None else shape
        placeholder = tensorflow().compat.v1.placeholder(str(value.dtype), extents, name=f"x{len(self.values)}")
        self.values[placeholder] = value
        return placeholder


def compare(build: Callable[[Any, Feeds], Sequence[Any]], needs: str = "") -> Pairs:
    """The tensors that `build` adds to a graph, which must have an operator `needs`, in a session and in Tessera."""
    tf, feeds = tensorflow(), Feeds()
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        results = [tf.identity(one, name=f"result{i}") for i, one in enumerate(build(tf, feeds))]
        with v1.Session(graph=graph) as session:
            want = session.run(results, feeds.values)
    definition = graph.as_graph_def()
    inner = [node.op for function in definition.library.function for node in function.node_def]
    if needs and needs not in [node.op for node in definition.node] + inner:
        raise ValueError(f"the graph has no {needs}")
    return list(zip(imported(definition, [one.name for one in results], feeds), want, strict=True))


def imported(definition: Any, outputs: list[str], feeds: Feeds) -> list[np.ndarray]:
    """What Tessera answers; its inputs have the shapes of the placeholders."""
    from tessera import relay

    mod, params = relay.frontend.from_tensorflow(definition, outputs=outputs)
    names = {str(param.name_hint) for param in mod["main"].params}
    given = {key.op.name: value for key, value in feeds.values.items() if key.op.name in names}
    return tessera_answers(mod, params, given)


def case(
    operator: str, note: str = "", outputs: Sequence[str] | None = None, tolerance: float = 1e-4, **arguments: Any
) -> Case:
    """An operator by the names of its definition: arrays are inputs, `Fixed` are constants. `outputs`: those that count."""

    def build(tf: Any, feeds: Feeds) -> Sequence[Any]:
        given = {name: feeds.tensor(value) for name, value in arguments.items()}
        out = getattr(tf.raw_ops, operator)(**given)
        if outputs is not None:
            return [getattr(out, name) for name in outputs]
        return list(out) if isinstance(out, (list, tuple)) else [out]

    return Case(operator, f"{operator} {note}".rstrip(), lambda: compare(build, operator), tolerance)


def graph_case(operator: str, note: str, build: Callable[[Any, Feeds], Sequence[Any]]) -> Case:
    """A graph of several operators."""
    return Case(operator, f"{operator} {note}".rstrip(), lambda: compare(build, operator))
