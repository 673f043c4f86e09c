"""Random numbers of one generator in the process, drawn when a program runs; `seed` starts it anew."""

from __future__ import annotations

from typing import Any

from .. import te
from .._ffi.registry import get_global_func
from ..te import Tensor
from ..tir import const
from ..tir.op import call_packed

__all__ = ["normal", "randint", "seed", "uniform"]


def _draw(kind: str, parameters: list[Any], size: Any, dtype: str) -> Tensor:
    shape = size if isinstance(size, (list, tuple)) else (size,)
    return te.extern(
        shape, [], lambda _, outs: call_packed(f"tvm.contrib.random.{kind}", *parameters, outs[0]), dtype=dtype
    )


def randint(low: int, high: int, size: Any, dtype: str = "int32") -> Tensor:
    """Integers from low to below high."""
    if "int" not in dtype:
        raise TypeError(f"randint gives integers, not {dtype}")
    return _draw("randint", [int(low), int(high)], size, dtype)


def uniform(low: float, high: float, size: Any) -> Tensor:
    """float32 numbers from low to below high."""
    return _draw("uniform", [const(float(low), "float32"), const(float(high), "float32")], size, "float32")


def normal(loc: float, scale: float, size: Any) -> Tensor:
    """float32 numbers of a normal distribution."""
    return _draw("normal", [const(float(loc), "float32"), const(float(scale), "float32")], size, "float32")


def seed(value: int) -> None:
    """Starts the generator of the process anew."""
    get_global_func("tvm.contrib.random.seed")(value)
