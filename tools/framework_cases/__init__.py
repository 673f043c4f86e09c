"""Operators of frameworks, run against the framework itself: one module a framework.

A module has

    TITLE       how the framework is called
    ORACLE      what the answers are compared with, and its version
    OPERATORS   the operators of its list, by the framework's own names
    cases()     the cases, in any order; an operator may have several, and counts as ok where all of them are

and is run by `tools/framework_operators.py`, in the framework's virtual environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pairs = Iterable[tuple[Any, Any]]  # what Tessera answers and what the oracle does, of each output


@dataclass(frozen=True)
class Case:
    """One operator with one set of attributes. `run` imports, compiles and runs it, and asks the oracle."""

    operator: str
    name: str
    run: Callable[[], Pairs]
    tolerance: float = 1e-4  # of the greatest difference, relative to the largest output
    steps: int = 0  # integers may differ by so many, which quantised arithmetic of another rounding does


def within_steps(got: Any, want: Any, steps: int) -> bool:
    """True for integers that differ by no more than so many steps."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype or got.dtype.kind not in "iu":
        return False
    return bool(np.abs(got.astype("int64") - want.astype("int64")).max(initial=0) <= steps)


def difference(got: Any, want: Any) -> float:
    """The greatest difference over the greatest magnitude; infinite for other shapes, types or where NaN and infinity differ."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    got, want = got.astype("float64"), want.astype("float64")
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return float("inf")
    apart = np.abs(got - want, where=finite, out=np.zeros_like(got)).max(initial=0.0)
    if not np.isfinite(apart):
        return float("inf")
    return float(apart / max(np.abs(want[finite]).max(initial=0.0), 1e-30))
