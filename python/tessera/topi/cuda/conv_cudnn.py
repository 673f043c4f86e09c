"""Convolutions under the names of those that call cuDNN, which Tessera computes itself."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from .. import nn, transform

__all__ = ["conv2d_cudnn", "conv3d_cudnn", "log_softmax_cudnn", "softmax_cudnn"]


def conv2d_cudnn(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    layout: str = "NCHW",
    out_dtype: str = "float32",
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w), or of (n, h, w, c) with (o, h, w, i)."""
    if layout == "NCHW":
        return nn.conv(data, kernel, strides, padding, dilation, groups, "NCHW", "OIHW", out_dtype)
    if layout == "NHWC":  # cuDNN's weight of NHWC has its channels last
        kernel = transform.transpose(kernel, [1, 2, 3, 0])
        return nn.conv(data, kernel, strides, padding, dilation, groups, "NHWC", "HWIO", out_dtype)
    raise ValueError(f"conv2d_cudnn takes NCHW and NHWC, not {layout}")


def conv3d_cudnn(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    layout: str = "NCDHW",
    out_dtype: str = "float32",
) -> Tensor:
    """Convolution of (n, c, d, h, w) with (o, i, d, h, w)."""
    if layout != "NCDHW":
        raise ValueError(f"conv3d_cudnn takes NCDHW, not {layout}")
    return nn.conv(data, kernel, strides, padding, dilation, groups, "NCDHW", "OIDHW", out_dtype)


def softmax_cudnn(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) over its sum along `axis`."""
    return nn.softmax(x, axis)


def log_softmax_cudnn(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return nn.log_softmax(x, axis)
