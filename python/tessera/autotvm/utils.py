"""Small helpers of AutoTVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np

__all__ = [
    "EmptyContext",
    "format_si_prefix",
    "get_const_int",
    "get_const_tuple",
    "get_func_name",
    "get_rank",
    "pool_map",
    "sample_ints",
]

_PREFIXES = {"Y": 1e24, "Z": 1e21, "E": 1e18, "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}  # fmt: skip


class EmptyContext:
    """A context that does nothing."""

    def __enter__(self) -> EmptyContext:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing happens."""


def get_rank(values: Sequence[float]) -> np.ndarray:
    """The rank of each value, 0 for the largest."""
    order = np.argsort(-np.asarray(values))
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(values))
    return ranks


def sample_ints(low: int, high: int, m: int) -> list[int]:
    """`m` different numbers from `low` to below `high`."""
    if m > high - low:
        raise ValueError(f"there are no {m} numbers from {low} to below {high}")
    if high - low <= 4 * m:
        return [int(each) for each in np.random.permutation(high - low)[:m] + low]
    found: set[int] = set()
    while len(found) < m:
        found.add(int(np.random.randint(low, high)))
    return list(found)


def pool_map(
    func: Callable, args: Sequence[Any], batch_size: int, verbose: bool = False, pool: Any = None
) -> np.ndarray:
    """The results of a function, on several threads, as an array."""
    del batch_size, verbose
    if pool is not None:
        return np.array(pool.map(func, args))
    with ThreadPool() as own:
        return np.array(own.map(func, args))


def get_func_name(func: Any) -> str:
    """The name of a function, also of one with arguments bound."""
    return func.func.__name__ if hasattr(func, "func") else func.__name__


def get_const_int(exp: Any) -> int:
    """A number that an expression is."""
    from ..topi.utils import get_const_int as get

    return get(exp)


def get_const_tuple(in_tuple: Any) -> tuple[Any, ...]:
    """The extents of a shape; variables stay what they are."""
    from ..topi.utils import get_const_tuple as get

    return tuple(get(in_tuple))


def format_si_prefix(x: float, si_prefix: str) -> float:
    """A number in units of a prefix: 2e9 in "G" is 2."""
    if si_prefix not in _PREFIXES:
        raise ValueError(f'there is no prefix "{si_prefix}"; there are {", ".join(filter(None, _PREFIXES))}')
    return x / _PREFIXES[si_prefix]
