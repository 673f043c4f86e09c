"""Matmuls by cuBLAS ("tvm.contrib.cublas.matmul"), whose library the runtime opens when it is first called."""

from __future__ import annotations

from ..te import Tensor
from . import _extern

__all__ = ["batch_matmul", "matmul"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, dtype: str | None = None) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.cublas.matmul", lhs, rhs, transa, transb, dtype, out_name="matmul_cublas")


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, dtype: str | None = None
) -> Tensor:
    """The matmuls of two batches of matrices."""
    name = "tvm.contrib.cublas.batch_matmul"
    return _extern.batch_matmul(name, lhs, rhs, transa, transb, dtype, out_name="batch_matmul_cublas")
