"""Networks of Caffe2, written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._wire import message


def argument(name: str, value: Any) -> bytes:
    """An argument of an operator: a number, a text, or a list of them."""
    if isinstance(value, (bool, int)):
        return message((1, name), (3, int(value)))
    if isinstance(value, float):
        return message((1, name), (2, value))
    if isinstance(value, str):
        return message((1, name), (4, value))
    if isinstance(value, np.ndarray):  # proto2 packs no lists unless told to
        return message((1, name), *[(5, float(one)) for one in value.ravel()])
    return message((1, name), *[(6, int(one)) for one in value])


def operator(kind: str, inputs: Any, outputs: Any, **arguments: Any) -> bytes:
    """An operator."""
    inputs = [inputs] if isinstance(inputs, str) else inputs
    outputs = [outputs] if isinstance(outputs, str) else outputs
    ends = [(1, name) for name in inputs] + [(2, name) for name in outputs]
    return message(*ends, (4, kind), *[(5, argument(name, value)) for name, value in arguments.items()])


def fill(name: str, value: np.ndarray) -> bytes:
    """An operator that gives a tensor of floats its values."""
    return operator("GivenTensorFill", [], name, shape=list(value.shape), values=value)


def net(operators: list[bytes], inputs: Any = (), outputs: Any = ()) -> bytes:
    """A network."""
    ends = [(7, name) for name in inputs] + [(8, name) for name in outputs]
    return message((1, "net"), *[(2, one) for one in operators], *ends)
