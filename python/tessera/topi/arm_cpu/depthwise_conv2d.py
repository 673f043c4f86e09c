"""Depthwise convolutions with the channels last."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from .. import nn
from .._schedules import with_optional_config

__all__ = ["compute_depthwise_conv2d_nhwc"]


@with_optional_config
def compute_depthwise_conv2d_nhwc(
    _: Any, data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str
) -> Tensor:
    """Convolution channel by channel of (n, h, w, c) with (h, w, c, multiplier)."""
    return nn.depthwise_conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)
