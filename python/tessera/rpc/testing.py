"""Functions that every server has, for those who try what a session passes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._ffi.registry import register_func
from ..runtime import ndarray as nd


@register_func("rpc.test.addone")
def _add_one(x: int) -> int:
    return x + 1


@register_func("rpc.test.strcat")
def _name_and_number(name: str, x: int) -> str:
    return f"{name}:{x}"


@register_func("rpc.test.except")
def _fail(name: str) -> None:
    raise ValueError(name)


@register_func("rpc.test.runtime_str_concat")
def _concatenate(x: str, y: str) -> str:
    return x + y


@register_func("rpc.test.remote_array_func")
def _check_ones(array: Any) -> None:
    np.testing.assert_equal(array.numpy(), np.ones((3, 4)))


@register_func("rpc.test.add_to_lhs")
def _adder(x: int) -> Callable:
    return lambda y: x + y


@register_func("rpc.test.remote_return_nd")
def _about_an_array(name: str) -> Callable:
    """One function of an array of ten zeros."""
    array = nd.array(np.zeros(10, "float32"))
    functions: dict[str, Callable] = {
        "get_arr": lambda: array,
        "get_elem": lambda index: float(array.numpy()[index]),
        "get_arr_elem": lambda other, index: float(other.numpy()[index]),
    }
    if name not in functions:
        raise ValueError(f"there is no {name!r} of an array; there are {', '.join(functions)}")
    return functions[name]
