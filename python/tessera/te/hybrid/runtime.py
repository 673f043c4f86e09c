"""The words of hybrid scripts over NumPy: what a decorated function finds when plain Python runs it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "HYBRID_GLOBALS",
    "allocate",
    "bind",
    "inf",
    "likely",
    "max_num_threads",
    "ninf",
    "popcount",
    "rsqrt",
    "sigmoid",
]

_TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + ["float16", "float32", "float64"]


class bind:
    """A loop that a thread runs each iteration of; here one after the other."""

    def __init__(self, _: Any, ext: int):
        self.ext = ext

    def __iter__(self) -> Any:
        return iter(range(self.ext))


def allocate(shape: Any, dtype: str = "float32", scope: str = "global") -> np.ndarray:
    """An array of zeros."""
    del scope
    return np.zeros(shape, dtype)


def rsqrt(x: Any) -> Any:
    """1 over the square root."""
    return 1 / np.sqrt(x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def popcount(x: Any) -> int:
    """How many bits are set."""
    return bin(x).count("1")


def likely(cond: Any) -> Any:
    """`cond`."""
    return cond


def max_num_threads(allow_none: bool = True) -> int:
    """How many threads a block has: one."""
    del allow_none
    return 1


def inf(dtype: str) -> Any:
    """Infinity."""
    return np.full((), np.inf, dtype)[()]


def ninf(dtype: str) -> Any:
    """Minus infinity."""
    return np.full((), -np.inf, dtype)[()]


#: All words by name.
HYBRID_GLOBALS: dict[str, Any] = {
    "output_tensor": allocate,
    "allocate": allocate,
    "bind": bind,
    "ceil_div": lambda a, b: (a + b - 1) // b,
    "likely": likely,
    "power": np.power,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "popcount": popcount,
    "max_num_threads": max_num_threads,
    "inf": inf,
    "ninf": ninf,
    "len": len,
    **dict.fromkeys(("unroll", "parallel", "vectorize", "const_range", "serial"), range),
    **{name: getattr(np, name) for name in ("sqrt", "log", "exp", "tanh", "round", *_TYPES)},
}
