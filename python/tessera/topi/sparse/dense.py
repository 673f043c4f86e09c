"""Linear layers of which one operand is sparse."""

from __future__ import annotations

from typing import Any

from ... import te
from ...te import Tensor
from ..nn.sparse import sparse_dense_sp_lhs, sparse_dense_sp_rhs

__all__ = ["dense", "dense_si", "dense_sw"]


def _with_bias(out: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return out
    if len(bias.shape) != 1:
        raise ValueError(f"the bias of dense is a vector, got the shape {bias.shape}")
    return te.compute(out.shape, lambda i, j: out[i, j] + bias[j], name="dense_bias", tag="broadcast")


def dense_si(data: Tensor, indices: Tensor, indptr: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Data in three tensors, a dense weight (units, k)."""
    return _with_bias(sparse_dense_sp_lhs(data, indices, indptr, weight), bias)


def dense_sw(data: Tensor, w_data: Tensor, w_indices: Tensor, w_indptr: Tensor, bias: Tensor | None = None) -> Tensor:
    """Dense data, a weight (units, k) in three tensors."""
    return _with_bias(sparse_dense_sp_rhs(data, w_data, w_indices, w_indptr), bias)


def dense(data: Any, weight: Any, bias: Tensor | None = None) -> Tensor:
    """out[m, n] = sum over k of data[m, k] * weight[n, k], plus bias[n]; one of both a placeholder in CSR."""
    if isinstance(data, Tensor) == isinstance(weight, Tensor):
        raise ValueError("topi.sparse.dense takes one sparse operand; topi.nn.dense takes two dense ones")
    if isinstance(weight, Tensor):
        return dense_si(data.data, data.indices, data.indptr, weight, bias)
    return dense_sw(data, weight.data, weight.indices, weight.indptr, bias)
