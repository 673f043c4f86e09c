"""Matmuls by cuBLASLt ("tvm.contrib.cublaslt.matmul"), which the runtime opens when it is first called."""

from __future__ import annotations

from ..te import Tensor
from . import _extern

__all__ = ["matmul"]


def matmul(
    lhs: Tensor,
    rhs: Tensor,
    transa: bool = False,
    transb: bool = False,
    n: int = 0,
    m: int = 0,
    dtype: str | None = None,
) -> Tensor:
    """The matmul of two matrices; `n` and `m` are its columns and rows, where the operands do not tell them."""
    shape = (m or lhs.shape[1 if transa else 0], n or rhs.shape[0 if transb else 1])
    name = "tvm.contrib.cublaslt.matmul"
    return _extern.library_call(name, shape, [lhs, rhs], transa, transb, dtype=dtype, out_name="matmul_cublaslt")
