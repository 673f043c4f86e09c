"""Convolutions of int8 in (n, h, w, c) with (h, w, i, o), by the names of v0.10's algorithms."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from .. import nn
from .arm_utils import is_neon_available

__all__ = [
    "compute_conv2d_NHWC_quantized_interleaved",
    "compute_conv2d_NHWC_quantized_native",
    "is_int8_hw_support",
]


def is_int8_hw_support(data_dtype: str, kernel_dtype: str) -> bool:
    """True when the target multiplies these types with NEON."""
    return data_dtype == kernel_dtype and data_dtype in ("int8", "uint8") and is_neon_available()


def compute_conv2d_NHWC_quantized_interleaved(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str
) -> Tensor:
    """Convolution of int8."""
    return nn.conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)


def compute_conv2d_NHWC_quantized_native(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str
) -> Tensor:
    """Convolution of int8."""
    return nn.conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)
