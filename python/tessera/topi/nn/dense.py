"""Matmuls."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from .. import _ffi_api
from .._records import call_record, result_type

__all__ = ["batch_matmul", "dense", "dense_pack", "matmul"]


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Matmul with a matrix; either operand may be stored transposed."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    dtype = out_dtype or tensor_a.dtype
    return _ffi_api.nn_matmul(tensor_a, tensor_b, bias, dtype, transpose_a, transpose_b, False)


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Linear layer: out[..., n] = sum over k of data[..., k] * weight[n, k], plus bias."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    return _ffi_api.nn_matmul(data, weight, bias, out_dtype or data.dtype, False, True, True)


def dense_pack(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """Linear layer with a weight (units / block, k, block)."""
    return _ffi_api.nn_dense_pack(data, weight, bias, out_dtype or data.dtype)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Matmuls of the matrices of two batches; either operand may be stored transposed."""
    del oshape, auto_scheduler_rewritten_layout, meta_schedule_original_shape
    attrs = {"out_dtype": result_type(out_dtype), "transpose_a": transpose_a, "transpose_b": transpose_b}
    return call_record("nn.batch_matmul", [tensor_a, tensor_b], attrs)
