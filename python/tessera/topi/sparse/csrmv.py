"""A sparse matrix times a vector."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from .csrmm import csrmm_default

__all__ = ["csrmv", "csrmv_default"]


def csrmv_default(data: Tensor, indices: Tensor, indptr: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A * weight + bias, with A in three tensors and a weight of one column."""
    if len(weight.shape) != 2:
        raise ValueError(f"csrmv takes a matrix of one column, got the shape {weight.shape}")
    return csrmm_default(data, indices, indptr, weight, bias, name="csrmv")


def csrmv(a: Any, x: Tensor, y: Tensor | None = None) -> Tensor:
    """a * x + y: `a` a placeholder of `tvm.contrib.sparse`, x a matrix of one column."""
    return csrmv_default(a.data, a.indices, a.indptr, x, y)
