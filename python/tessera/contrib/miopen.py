"""Convolutions and softmax by MIOpen, where a library has registered its functions."""

from __future__ import annotations

from ..te import Tensor
from ..topi.utils import get_const_tuple
from . import _extern

__all__ = ["conv2d_forward", "log_softmax", "softmax"]


def conv2d_forward(
    x: Tensor,
    w: Tensor,
    stride_h: int = 1,
    stride_w: int = 1,
    pad_h: int = 0,
    pad_w: int = 0,
    dilation_h: int = 1,
    dilation_w: int = 1,
    conv_mode: int = 0,
    data_type: int = 1,
    group_count: int = 1,
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w); `conv_mode` 0 is a convolution, 1 a transposed one."""
    if conv_mode not in (0, 1):
        raise ValueError(f"conv_mode is 0 (convolution) or 1 (transposed convolution), not {conv_mode}")
    batch, _, height, width = get_const_tuple(x.shape)
    first, second, kernel_h, kernel_w = get_const_tuple(w.shape)
    reach_h, reach_w = (kernel_h - 1) * dilation_h + 1, (kernel_w - 1) * dilation_w + 1
    if conv_mode == 0:
        out_h, out_w = (height + 2 * pad_h - reach_h) // stride_h + 1, (width + 2 * pad_w - reach_w) // stride_w + 1
        shape = (batch, first, out_h, out_w)
    else:
        out_h, out_w = (height - 1) * stride_h - 2 * pad_h + reach_h, (width - 1) * stride_w - 2 * pad_w + reach_w
        shape = (batch, second * group_count, out_h, out_w)
    numbers = (conv_mode, data_type, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, group_count)
    return _extern.library_call("tvm.contrib.miopen.conv2d.forward", shape, [x, w], *numbers, out_name="y")


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) over its sum along `axis`."""
    return _extern.library_call("tvm.contrib.miopen.softmax.forward", x.shape, [x], axis, out_name="y")


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return _extern.library_call("tvm.contrib.miopen.log_softmax.forward", x.shape, [x], axis, out_name="y")
