"""Gradients of convolutions."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .._records import const_tuple
from ..utils import get_const_tuple
from .space import dilate, pad
from .utils import get_pad_tuple

__all__ = ["depthwise_conv2d_backward_input_nhwc", "depthwise_conv2d_backward_weight_nhwc"]


def depthwise_conv2d_backward_input_nhwc(
    Filter: Tensor, Out_grad: Tensor, oshape: Any, ishape: Any, stride: Any, padding: Any
) -> Tensor:
    """The gradient of a depthwise convolution for its data (n, h, w, c), of a weight (h, w, c, multiplier)."""
    batch, height, width, channels = (int(extent) for extent in get_const_tuple(ishape))
    _, out_h, out_w, _ = (int(extent) for extent in get_const_tuple(oshape))
    filter_h, filter_w, _, multiplier = get_const_tuple(Filter.shape)
    steps = const_tuple(stride, 2)
    top, left, _, _ = get_pad_tuple(padding, (filter_h, filter_w))
    spread = dilate(Out_grad, [1, steps[0], steps[1], 1], name="dilated_out_grad")
    before = [0, filter_h - 1 - top, filter_w - 1 - left, 0]
    # Elements that no window reached have no gradient.
    after = [
        0,
        height + top - (out_h - 1) * steps[0] - 1,
        width + left - (out_w - 1) * steps[1] - 1,
        0,
    ]
    padded = pad(spread, before, after, name="padded_out_grad")
    dy = te.reduce_axis((0, filter_h), name="dh")
    dx = te.reduce_axis((0, filter_w), name="dw")
    dc = te.reduce_axis((0, multiplier), name="dc")
    return te.compute(
        (batch, height, width, channels),
        lambda b, y, x, c: te.sum(
            padded[b, y + dy, x + dx, c * multiplier + dc] * Filter[filter_h - 1 - dy, filter_w - 1 - dx, c, dc],
            axis=[dy, dx, dc],
        ),
        tag="depthwise_conv2d_backward_input_nhwc",
    )


def depthwise_conv2d_backward_weight_nhwc(
    Input: Tensor, Out_grad: Tensor, oshape: Any, fshape: Any, stride: Any, padding: Any
) -> Tensor:
    """The gradient of a depthwise convolution of (n, h, w, c) for its weight (h, w, c, multiplier)."""
    _, out_h, out_w, _ = (int(extent) for extent in get_const_tuple(oshape))
    filter_h, filter_w, channels, multiplier = (int(extent) for extent in get_const_tuple(fshape))
    steps = const_tuple(stride, 2)
    top, left, bottom, right = get_pad_tuple(padding, (filter_h, filter_w))
    padded = pad(Input, [0, top, left, 0], [0, bottom, right, 0], name="padded_in")
    dy = te.reduce_axis((0, out_h), name="dh")
    dx = te.reduce_axis((0, out_w), name="dw")
    db = te.reduce_axis((0, Input.shape[0]), name="db")
    return te.compute(
        (filter_h, filter_w, channels, multiplier),
        lambda y, x, c, m: te.sum(
            Out_grad[db, dy, dx, c * multiplier + tir.floormod(m, multiplier)]
            * padded[db, y + dy * steps[0], x + dx * steps[1], c],
            axis=[db, dy, dx],
        ),
        tag="depthwise_conv2d_backward_weight_nhwc",
    )
