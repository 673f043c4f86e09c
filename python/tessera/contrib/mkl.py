"""Matmuls by Intel's MKL, where a library has registered its functions ("tvm.contrib.mkl.matmul" and others)."""

from __future__ import annotations

from typing import Any

from ..te import Tensor
from . import _extern

__all__ = ["batch_matmul", "matmul", "matmul_u8s8s32"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.mkl.matmul", lhs, rhs, transa, transb, **kwargs)


def matmul_u8s8s32(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """The matmul of uint8 and int8, added up as int32."""
    return _extern.matmul("tvm.contrib.mkl.matmul_u8s8s32", lhs, rhs, transa, transb, **{"dtype": "int32", **kwargs})


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> Tensor:
    """The matmuls of two batches of matrices."""
    name = "tvm.contrib.mkl.batch_matmul" + ("_iterative" if iterative else "")
    return _extern.batch_matmul(name, lhs, rhs, transa, transb, **kwargs)
