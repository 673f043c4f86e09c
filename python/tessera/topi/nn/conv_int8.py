"""Convolutions of int8 in blocks of channels, four of which an instruction adds up."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .._records import const_tuple
from ..utils import get_const_tuple
from .space import pad
from .utils import get_pad_tuple

__all__ = ["conv2d_NCHWc_int8"]


_BLOCK, _ELEMS = 8, 4  # channels of a block, and those that an instruction adds up


def _packed(data: Tensor, kernel: Tensor, elems: int) -> tuple[Tensor, Tensor]:
    """Data (n, c, h, w) and a kernel (o, i, h, w) in blocks of up to eight channels."""
    batch, _, height, width = get_const_tuple(data.shape)
    outs, ins, kernel_h, kernel_w = get_const_tuple(kernel.shape)
    out_block = next(size for size in range(_BLOCK, 0, -1) if outs % size == 0)
    in_block = next((size for size in range(_BLOCK, 0, -elems) if ins % size == 0), 0)
    if not in_block:
        raise ValueError(f"{ins} channels of a kernel of 8-bit integers are no multiple of {elems}")
    blocks = te.compute(
        (batch, data.shape[1] // in_block, height, width, in_block),
        lambda n, c, y, x, block: data[n, c * in_block + block, y, x],
        name="data_vec",
        tag="injective",
    )
    weight = te.compute(
        (outs // out_block, ins // in_block, kernel_h, kernel_w, in_block // elems, out_block, elems),
        lambda o, i, y, x, part, block, e: kernel[o * out_block + block, i * in_block + part * elems + e, y, x],
        name="kernel_vec",
        tag="injective",
    )
    return blocks, weight


def conv2d_NCHWc_int8(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = "int32",
    n_elems: int = _ELEMS,
) -> Tensor:
    """Convolution of (n, c, h, w, block) with (o, c, h, w, block / n_elems, o block, n_elems); plain ones are packed."""
    del layout, out_layout  # the shapes tell
    if len(data.shape) == 4:
        data, kernel = _packed(data, kernel, n_elems)
    batch, in_chunks, height, width, in_block = get_const_tuple(data.shape)
    out_chunks, group_chunks, kernel_h, kernel_w, _, out_block, _ = get_const_tuple(kernel.shape)
    steps, spread = const_tuple(stride, 2), const_tuple(dilation, 2)
    reach = [(kernel_h - 1) * spread[0] + 1, (kernel_w - 1) * spread[1] + 1]
    top, left, bottom, right = get_pad_tuple(padding, reach)
    padded = (
        pad(data, [0, 0, top, left, 0], [0, 0, bottom, right, 0], name="data_pad")
        if any((top, left, bottom, right))
        else data
    )
    out_h = (height + top + bottom - reach[0]) // steps[0] + 1
    out_w = (width + left + right - reach[1]) // steps[1] + 1
    groups = in_chunks // group_chunks
    chunks_of_group = out_chunks // groups
    outer = te.reduce_axis((0, group_chunks), name="ic_outer")
    middle = te.reduce_axis((0, in_block // n_elems), name="ic_f_inner")
    inner = te.reduce_axis((0, n_elems), name="ic_s_inner")
    dy = te.reduce_axis((0, kernel_h), name="kh")
    dx = te.reduce_axis((0, kernel_w), name="kw")

    def element(n: Any, o: Any, y: Any, x: Any, block: Any) -> Any:
        first = tir.floordiv(o, chunks_of_group) * group_chunks if groups > 1 else 0
        value = padded[
            n,
            first + outer,
            y * steps[0] + dy * spread[0],
            x * steps[1] + dx * spread[1],
            middle * n_elems + inner,
        ]
        weight = kernel[o, outer, dy, dx, middle, block, inner]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[dy, dx, outer, middle, inner])

    shape = (batch, out_chunks, out_h, out_w, out_block)
    return te.compute(shape, element, name="conv2d_NCHWc_int8", tag="conv2d_NCHWc_int8")
