"""Sparse matrices for tests and benchmarks."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

__all__ = ["random_bsr_matrix"]


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> Any:
    """A matrix of SciPy in blocks (bs_r, bs_c) of random numbers; `density` says what part of its elements is there."""
    sparse = importlib.import_module("scipy.sparse")
    rows, columns = m // bs_r, n // bs_c
    if m % bs_r or n % bs_c:
        raise ValueError(f"blocks of {bs_r} x {bs_c} do not tile a matrix of {m} x {n}")
    count = int(density * m * n) // (bs_r * bs_c) + 1
    chosen = np.sort(np.random.choice(rows * columns, min(count, rows * columns), replace=False))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(chosen // columns, minlength=rows))])
    data = np.random.randn(len(chosen), bs_r, bs_c).astype(dtype)
    return sparse.bsr_matrix((data, (chosen % columns).astype("int32"), indptr.astype("int32")), shape=(m, n))
