"""Random numbers from keys; signatures are v0.10's.

Each function gives a key for the next call beside its numbers: with one key it always gives the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...expr import Constant, Expr, TupleWrapper, const
from .._arguments import as_list
from .._make import call_op

__all__ = ["multinomial", "normal", "threefry_generate", "threefry_key", "threefry_split", "uniform"]


def threefry_key(seed: int) -> Constant:
    """The key of a seed, which has at most 256 bits."""
    words = np.frombuffer(int(seed).to_bytes(32, byteorder="little"), dtype="uint64")
    return const(np.concatenate((words, np.array([0, 0, 0, 0, 1 << 63, 0], dtype="uint64"))))


def threefry_generate(key: Expr, shape: Any) -> TupleWrapper:
    """The next key, and random uint64 numbers."""
    return TupleWrapper(call_op("random.threefry_generate", [key], {"out_shape": as_list(shape)}), 2)


def threefry_split(key: Expr) -> TupleWrapper:
    """Two keys whose numbers have nothing to do with each other."""
    return TupleWrapper(call_op("random.threefry_split", [key]), 2)


def _numbers(name: str, key: Expr, first: Any, second: Any, shape: Any, dtype: str) -> TupleWrapper:
    parameters = [value if isinstance(value, Expr) else const(value, dtype=dtype) for value in (first, second)]
    attrs = {"out_shape": as_list(shape), "out_dtype": dtype}
    return TupleWrapper(call_op(name, [key, *parameters], attrs), 2)


def uniform(key: Expr, shape: Any, dtype: str = "float32", low: Any = 0.0, high: Any = 1.0) -> TupleWrapper:
    """The next key, and random numbers from low to below high."""
    return _numbers("random.uniform", key, low, high, shape, dtype)


def normal(key: Expr, shape: Any, dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0) -> TupleWrapper:
    """The next key, and random numbers of a normal distribution."""
    return _numbers("random.normal", key, mean, scale, shape, dtype)


def multinomial(key: Expr, probs: Expr, num_samples: int) -> TupleWrapper:
    """The next key, and for each row of probabilities that many random outcomes."""
    return TupleWrapper(call_op("random.multinomial", [key, probs], {"num_samples": num_samples}), 2)
