"""Convolutions of int8 in blocks of four channels, and in the layout of tensor cores."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .. import transform
from .._records import const_tuple
from ..nn import conv, pad
from ..nn.utils import get_pad_tuple
from ..utils import get_const_tuple

__all__ = ["conv2d_NCHWc_int8", "conv2d_hwnc_tensorcore", "group_conv2d_NCHWc_int8"]

_BLOCK = 4


def group_conv2d_NCHWc_int8(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, groups: int, out_dtype: str = "float32"
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w), or of blocks (n, c, h, w, 4) with (o, i, h, w, 4 o, 4 i).

    The result has blocks of four channels.
    """
    if len(data.shape) == 4:
        data = transform.layout_transform(data, "NCHW", f"NCHW{_BLOCK}c")
        kernel = transform.layout_transform(kernel, "OIHW", f"OIHW{_BLOCK}o{_BLOCK}i")
    batch, in_chunks, height, width, in_block = get_const_tuple(data.shape)
    out_chunks, chunks, kernel_h, kernel_w, out_block, _ = get_const_tuple(kernel.shape)
    steps, spread = const_tuple(stride, 2), const_tuple(dilation, 2)
    reach = [(kernel_h - 1) * spread[0] + 1, (kernel_w - 1) * spread[1] + 1]
    top, left, bottom, right = get_pad_tuple(padding, reach)
    padded = pad(data, [0, 0, top, left, 0], [0, 0, bottom, right, 0], name="pad_data")
    out_h = (height + top + bottom - reach[0]) // steps[0] + 1
    out_w = (width + left + right - reach[1]) // steps[1] + 1
    out_of_group, in_of_group = out_chunks // groups, in_chunks // groups
    c = te.reduce_axis((0, chunks), name="ic_chunk")
    block = te.reduce_axis((0, in_block), name="ic_block")
    dy = te.reduce_axis((0, kernel_h), name="ry")
    dx = te.reduce_axis((0, kernel_w), name="rx")

    def element(n: Any, o: Any, y: Any, x: Any, inner: Any) -> Any:
        first = tir.floordiv(o, out_of_group) * in_of_group if groups > 1 else 0
        value = padded[n, first + c, y * steps[0] + dy * spread[0], x * steps[1] + dx * spread[1], block]
        weight = kernel[o, c, dy, dx, inner, block]
        return te.sum(value.astype("int32") * weight.astype("int32"), axis=[c, dy, dx, block])

    shape = (batch, out_chunks, out_h, out_w, out_block)
    out = te.compute(shape, element, name="conv2d_NCHWc_int8")
    return te.compute(shape, lambda *at: out(*at).astype(out_dtype), tag="conv2d_NCHWc_int8", name="output")


def conv2d_NCHWc_int8(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, layout: str, out_dtype: str
) -> Tensor:
    """`group_conv2d_NCHWc_int8` of one group."""
    if layout not in ("NCHW", "NCHW4c"):
        raise ValueError(f"conv2d_NCHWc_int8 takes NCHW and NCHW4c, not {layout}")
    return group_conv2d_NCHWc_int8(data, kernel, stride, padding, dilation, 1, out_dtype)


def conv2d_hwnc_tensorcore(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any, in_dtype: str, out_dtype: str = "int32"
) -> Tensor:
    """Convolution of (h, w, n, c) with (h, w, o, i)."""
    if in_dtype not in ("int4", "int8") or data.dtype != in_dtype:
        raise TypeError(f"conv2d_hwnc_tensorcore takes int4 or int8, got {data.dtype} for {in_dtype}")
    filters = transform.transpose(kernel, [0, 1, 3, 2])
    images = transform.transpose(data, [2, 0, 1, 3])
    out = conv(images, filters, strides, padding, dilation, 1, "NHWC", "HWIO", out_dtype)
    return transform.transpose(out, [1, 2, 0, 3])
