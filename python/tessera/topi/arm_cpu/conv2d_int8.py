"""Convolutions of int8 in (n, h, w, c) with (h, w, i, o), by the names of v0.10's algorithms."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from .. import nn
from .._records import call_record, const_tuple
from .._schedules import with_optional_config
from ..nn.utils import get_pad_tuple
from .arm_utils import is_neon_available

__all__ = [
    "compute_conv2d_NHWC_quantized_interleaved",
    "compute_conv2d_NHWC_quantized_interleaved_without_transform",
    "compute_conv2d_NHWC_quantized_native",
    "compute_conv2d_NHWC_quantized_native_without_transform",
    "compute_conv2d_gemm_without_weight_transform",
    "is_int8_hw_support",
]


def is_int8_hw_support(data_dtype: str, kernel_dtype: str) -> bool:
    """True when the target multiplies these types with NEON."""
    return data_dtype == kernel_dtype and data_dtype in ("int8", "uint8") and is_neon_available()


@with_optional_config
def compute_conv2d_NHWC_quantized_interleaved(
    cfg: Any, data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str
) -> Tensor:
    """Convolution of int8."""
    del cfg
    return nn.conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)


@with_optional_config
def compute_conv2d_NHWC_quantized_native(
    cfg: Any, data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str
) -> Tensor:
    """Convolution of int8."""
    del cfg
    return nn.conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)


@with_optional_config
def compute_conv2d_gemm_without_weight_transform(
    cfg: Any,
    data: Tensor,
    B_interleaved_t: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str,
    kernel_size: Any,
    output_channels: int,
    interleave_A: bool = True,
) -> Tensor:
    """Convolution of (n, h, w, c) as a matmul, with a weight in tiles (`nn.conv2d_gemm_weight_transform`)."""
    del cfg, interleave_A
    attrs = {
        "strides": const_tuple(strides, 2),
        "padding": get_pad_tuple(padding, const_tuple(kernel_size, 2)),
        "dilation": const_tuple(dilation, 2),
        "channels": int(getattr(output_channels, "value", output_channels)),
        "kernel_size": const_tuple(kernel_size, 2),
        "data_layout": "NHWC",
        "kernel_layout": "HWIO",
        "out_dtype": out_dtype,
    }
    return call_record("nn.contrib_conv2d_gemm_without_weight_transform", [data, B_interleaved_t], attrs)


@with_optional_config
def compute_conv2d_NHWC_quantized_interleaved_without_transform(
    cfg: Any,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str,
    kernel_size: Any,
    output_channels: int,
) -> Tensor:
    """The same, interleaved."""
    return compute_conv2d_gemm_without_weight_transform(
        cfg, data, kernel, strides, padding, dilation, out_dtype, kernel_size, output_channels, True
    )


@with_optional_config
def compute_conv2d_NHWC_quantized_native_without_transform(
    cfg: Any,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str,
    kernel_size: Any,
    output_channels: int,
) -> Tensor:
    """The same, row by row."""
    return compute_conv2d_gemm_without_weight_transform(
        cfg, data, kernel, strides, padding, dilation, out_dtype, kernel_size, output_channels, False
    )
