"""Matmuls by a BLAS library, or where none is found by the BLAS that NumPy was built with."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ffi.registry import get_global_func, register_func
from ..te import Tensor
from . import _extern

__all__ = ["batch_matmul", "matmul"]


def _write(out: Any, value: np.ndarray) -> None:
    out.copyfrom(value.astype(out.dtype, copy=False))


def _multiply(lhs: Any, rhs: Any, out: Any, transa: int, transb: int) -> None:
    """out = lhs * rhs over the last two dimensions; a batch of one is broadcast."""
    left, right = lhs.numpy(), rhs.numpy()
    _write(out, np.matmul(left.swapaxes(-1, -2) if transa else left, right.swapaxes(-1, -2) if transb else right))


if not get_global_func("tessera.blas.is_available")(False):
    for _name in ("matmul", "batch_matmul", "batch_matmul_iterative"):
        register_func(f"tvm.contrib.cblas.{_name}", _multiply, override=True)


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.cblas.matmul", lhs, rhs, transa, transb, **kwargs)


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> Tensor:
    """The matmuls of two batches of matrices."""
    name = "tvm.contrib.cblas.batch_matmul" + ("_iterative" if iterative else "")
    return _extern.batch_matmul(name, lhs, rhs, transa, transb, **kwargs)
