"""Matmuls by rocBLAS, where a library has registered its functions ("tvm.contrib.rocblas.matmul")."""

from __future__ import annotations

from ..te import Tensor
from . import _extern

__all__ = ["batch_matmul", "matmul"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.rocblas.matmul", lhs, rhs, transa, transb)


def batch_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Tensor:
    """The matmuls of two batches of matrices."""
    return _extern.batch_matmul("tvm.contrib.rocblas.batch_matmul", lhs, rhs, transa, transb)
