"""Matmuls and convolutions by oneDNN, where a library has registered its functions ("tvm.contrib.dnnl.matmul")."""

from __future__ import annotations

from typing import Any

from ..te import Tensor
from ..topi.nn.utils import get_pad_tuple
from ..topi.utils import get_const_tuple
from . import _extern

__all__ = ["dnnl_conv2d", "matmul"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.dnnl.matmul", lhs, rhs, transa, transb, **kwargs)


def dnnl_conv2d(
    src: Tensor,
    weights: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    channel_last: bool = False,
    out_dtype: str = "float32",
    **kwargs: Any,
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w), or of (n, h, w, c) with (h, w, i, o)."""
    if channel_last:
        batch, height, width, _ = get_const_tuple(src.shape)
        kernel_h, kernel_w, _, out_channels = get_const_tuple(weights.shape)
    else:
        batch, _, height, width = get_const_tuple(src.shape)
        out_channels, _, kernel_h, kernel_w = get_const_tuple(weights.shape)
    steps = (stride, stride) if isinstance(stride, int) else tuple(stride)
    spread = (dilation, dilation) if isinstance(dilation, int) else tuple(dilation)
    reach = ((kernel_h - 1) * spread[0] + 1, (kernel_w - 1) * spread[1] + 1)
    top, left, bottom, right = get_pad_tuple(padding, reach)
    out_h = (height + top + bottom - reach[0]) // steps[0] + 1
    out_w = (width + left + right - reach[1]) // steps[1] + 1
    shape = (batch, out_h, out_w, out_channels) if channel_last else (batch, out_channels, out_h, out_w)
    return _extern.library_call(
        "tvm.contrib.dnnl.conv2d",
        shape,
        [src, weights],
        top,
        bottom,
        left,
        right,
        *steps,
        groups,
        channel_last,
        True,
        dtype=out_dtype,
        **kwargs,
    )
