"""conv2d_NCHWc.x86 and depthwise_conv2d_NCHWc.x86: convolutions in blocks of channels."""

from __future__ import annotations

import math
from typing import Any

from ... import te, tir
from ...topi.nn import pad
from ...topi.nn.utils import get_pad_tuple
from ..task import register_topi_compute, register_topi_schedule
from ..task.entities import OtherOptionEntity, SplitEntity
from .contractions import MAX_PIXELS, largest_factor

__all__ = [
    "Sizes",
    "conv2d_nchwc",
    "data_blocks",
    "define_rows_or_unroll",
    "depthwise_conv2d_nchwc",
    "padded",
    "schedule_conv2d_nchwc",
    "schedule_depthwise_conv2d_nchwc",
]

_LANES = 16  # of blocks where nobody says


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def _ints(shape: Any) -> list[int]:
    return [int(extent) for extent in shape]


def _plain(data: Any, kernel: Any) -> tuple[list[int], list[int]]:
    """Shapes without blocks: NCHW and OIHW. Behind blocks of both channels a weight may have parts of the first, as int8 has."""
    shape, weights = _ints(data.shape), _ints(kernel.shape)
    if len(shape) == 5:
        shape = [shape[0], shape[1] * shape[4], *shape[2:4]]
    if len(weights) >= 6:
        weights = [weights[0] * weights[5], weights[1] * weights[4] * math.prod(weights[6:]), *weights[2:4]]
    return shape, weights


class Sizes:
    """Extents of a convolution."""

    def __init__(self, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any) -> None:
        (self.batch, self.inputs, height, width), (self.outputs, self.group_inputs, self.kh, self.kw) = _plain(
            data, kernel
        )
        self.sh, self.sw = _pair(strides)
        self.dh, self.dw = _pair(dilation)
        reach = (self.kh - 1) * self.dh + 1, (self.kw - 1) * self.dw + 1
        self.pads = [int(each) for each in get_pad_tuple(padding, reach)]
        top, left, bottom, right = self.pads
        self.oh = (height + top + bottom - reach[0]) // self.sh + 1
        self.ow = (width + left + right - reach[1]) // self.sw + 1


def padded(blocks: Any, sizes: Sizes) -> Any:
    """Data in blocks of channels with zeros around."""
    top, left, bottom, right = sizes.pads
    if not any(sizes.pads):
        return blocks
    return pad(blocks, [0, 0, top, left, 0], [0, 0, bottom, right, 0], name="data_pad")


def data_blocks(data: Any, block: int) -> Any:
    """Data in blocks of channels, which it may have already."""
    if len(data.shape) == 5:
        return data
    n, c, h, w = _ints(data.shape)
    return te.compute(
        (n, c // block, h, w, block), lambda i, co, y, x, ci: data[i, co * block + ci, y, x], name="data_vec"
    )


def _fallback(cfg: Any, sizes: Sizes, space: dict[str, int]) -> None:
    """What a template takes without a record."""
    if not cfg.is_fallback:
        return
    for name, extent in space.items():
        cfg[name] = SplitEntity([-1, largest_factor(extent, _LANES if name != "tile_ow" else 8)])
    if sizes.kh == sizes.kw == 1 and "tile_oh" in _knobs(sizes):
        cfg["tile_oh"] = OtherOptionEntity(1)
    else:
        cfg["unroll_kw"] = OtherOptionEntity(False)


def _knobs(sizes: Sizes) -> list[str]:
    return ["tile_oh"] if sizes.kh == sizes.kw == 1 else ["unroll_kw"]


def define_rows_or_unroll(cfg: Any, sizes: Sizes) -> None:
    """The knob beside the tiles: rows of a tile where the kernel is one element, else whether its columns are unrolled."""
    if sizes.kh == sizes.kw == 1:
        cfg.define_knob("tile_oh", [1, 2] if sizes.oh > 1 else [1])
    else:
        cfg.define_knob("unroll_kw", [True, False])


@register_topi_compute("conv2d_NCHWc.x86")
def conv2d_nchwc(
    cfg: Any,
    data: Any,
    kernel: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    layout: Any,
    out_layout: Any,
    out_dtype: Any = "float32",
) -> Any:
    """A convolution whose channels lie in blocks of tile_ic and tile_oc; data in NCHW and weights in OIHW are packed first."""
    del layout, out_layout
    sizes = Sizes(data, kernel, strides, padding, dilation)
    cfg.define_split("tile_ic", sizes.inputs, num_outputs=2)
    cfg.define_split("tile_oc", sizes.outputs, num_outputs=2)
    cfg.define_split(
        "tile_ow", sizes.ow, num_outputs=2, filter=lambda each: each.size[-1] <= MAX_PIXELS, policy="verbose"
    )
    define_rows_or_unroll(cfg, sizes)
    _fallback(cfg, sizes, {"tile_ic": sizes.inputs, "tile_oc": sizes.outputs, "tile_ow": sizes.ow})
    ic = int(data.shape[4]) if len(data.shape) == 5 else cfg["tile_ic"].size[-1]
    oc = int(kernel.shape[5]) if len(kernel.shape) == 6 else cfg["tile_oc"].size[-1]
    blocks = padded(data_blocks(data, ic), sizes)
    weights = kernel
    if len(kernel.shape) == 4:
        weights = te.compute(
            (sizes.outputs // oc, sizes.inputs // ic, sizes.kh, sizes.kw, ic, oc),
            lambda o, i, y, x, ii, oi: kernel[o * oc + oi, i * ic + ii, y, x],
            name="kernel_vec",
        )
    channel = te.reduce_axis((0, sizes.inputs), name="ic")
    row, column = te.reduce_axis((0, sizes.kh), name="kh"), te.reduce_axis((0, sizes.kw), name="kw")

    def product(n: Any, o: Any, y: Any, x: Any, oi: Any) -> Any:
        there = y * sizes.sh + row * sizes.dh, x * sizes.sw + column * sizes.dw
        value = blocks[n, tir.floordiv(channel, ic), there[0], there[1], tir.floormod(channel, ic)]
        weight = weights[o, tir.floordiv(channel, ic), row, column, tir.floormod(channel, ic), oi]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[channel, row, column])

    return te.compute(
        (sizes.batch, sizes.outputs // oc, sizes.oh, sizes.ow, oc), product, name="conv2d_NCHWc", tag="conv2d_NCHWc"
    )


@register_topi_compute("depthwise_conv2d_NCHWc.x86")
def depthwise_conv2d_nchwc(
    cfg: Any,
    data: Any,
    kernel: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    layout: Any,
    out_layout: Any,
    out_dtype: Any = None,
) -> Any:
    """A convolution of each channel alone, channels in blocks of tile_oc."""
    del layout, out_layout
    sizes = Sizes(data, kernel, strides, padding, dilation)
    out_dtype = out_dtype or data.dtype
    multiplier = sizes.group_inputs if len(kernel.shape) == 4 else 1
    outputs = sizes.outputs * multiplier if len(kernel.shape) == 4 else int(kernel.shape[0]) * int(kernel.shape[5])
    cfg.define_split("tile_ic", sizes.inputs, num_outputs=2)
    cfg.define_split("tile_oc", outputs, num_outputs=2)
    cfg.define_split("tile_ow", sizes.ow, num_outputs=2, filter=lambda each: each.size[-1] <= MAX_PIXELS)
    cfg.define_knob("unroll_kw", [True, False])
    if cfg.is_fallback:
        for name, extent in {"tile_ic": sizes.inputs, "tile_oc": outputs, "tile_ow": sizes.ow}.items():
            cfg[name] = SplitEntity([-1, largest_factor(extent, _LANES if name != "tile_ow" else 8)])
        cfg["unroll_kw"] = OtherOptionEntity(False)
    ic = int(data.shape[4]) if len(data.shape) == 5 else cfg["tile_ic"].size[-1]
    oc = int(kernel.shape[5]) if len(kernel.shape) == 6 else cfg["tile_oc"].size[-1]
    blocks = padded(data_blocks(data, ic), sizes)
    weights = kernel
    if len(kernel.shape) == 4:
        weights = te.compute(
            (outputs // oc, 1, sizes.kh, sizes.kw, 1, oc),
            lambda o, _, y, x, __, oi: kernel[
                tir.floordiv(o * oc + oi, multiplier), tir.floormod(o * oc + oi, multiplier), y, x
            ],
            name="kernel_vec",
        )
    row, column = te.reduce_axis((0, sizes.kh), name="kh"), te.reduce_axis((0, sizes.kw), name="kw")

    def product(n: Any, o: Any, y: Any, x: Any, oi: Any) -> Any:
        channel = tir.floordiv(o * oc + oi, multiplier)
        there = y * sizes.sh + row * sizes.dh, x * sizes.sw + column * sizes.dw
        value = blocks[n, tir.floordiv(channel, ic), there[0], there[1], tir.floormod(channel, ic)]
        return te.sum(value.astype(out_dtype) * weights[o, 0, row, column, 0, oi].astype(out_dtype), axis=[row, column])

    return te.compute(
        (sizes.batch, outputs // oc, sizes.oh, sizes.ow, oc),
        product,
        name="depthwise_conv2d_NCHWc",
        tag="depthwise_conv2d_NCHWc",
    )


def _find(outs: Any, tag: str) -> tuple[Any, list[Any]]:
    """The convolution among what the outputs come from, and the stages that copy."""
    seen: list[Any] = []
    waiting = [out.op for out in outs]
    while waiting:
        op = waiting.pop()
        if any(op.same_as(each) for each in seen) or not isinstance(op, te.ComputeOp):
            continue
        seen.append(op)
        waiting += [tensor.op for tensor in op.input_tensors]
    conv = next(op for op in seen if op.tag == tag)
    return conv, [op for op in seen if op.name in ("data_vec", "kernel_vec", "data_pad")]


def _parallel_outside(s: Any, stage: Any, loops: Any) -> None:
    outer = loops[0]
    for loop in loops[1:]:
        outer = s[stage].fuse(outer, loop)
    s[stage].parallel(outer)


def _schedule(cfg: Any, outs: Any, tag: str) -> Any:
    outs = [outs] if isinstance(outs, te.Tensor) else list(outs)
    s = te.create_schedule([out.op for out in outs])
    conv, copies = _find(outs, tag)
    for op in copies:
        stage = op.output(0)
        _parallel_outside(s, stage, s[stage].op.axis[:2])
        s[stage].vectorize(s[stage].op.axis[-1])
    result = conv.output(0)
    sums = s.cache_write(result, "global")
    out = outs[0]
    n, oc, oh, ow, block = s[out].op.axis
    ow_outer, ow_inner = s[out].split(ow, cfg["tile_ow"].size[-1])
    s[out].reorder(n, oc, oh, ow_outer, ow_inner, block)
    s[out].vectorize(block)
    s[sums].compute_at(s[out], ow_outer)
    inner_ow, inner_block = s[sums].op.axis[3], s[sums].op.axis[4]
    reduce = list(s[sums].op.reduce_axis)
    s[sums].reorder(*reduce, inner_ow, inner_block)
    s[sums].vectorize(inner_block)
    s[sums].unroll(inner_ow)
    if "unroll_kw" in cfg and cfg["unroll_kw"].val:
        s[sums].unroll(reduce[-1])
    _parallel_outside(s, out, [n, oc, oh])
    return s


@register_topi_schedule("conv2d_NCHWc.x86")
def schedule_conv2d_nchwc(cfg: Any, outs: Any) -> Any:
    """Tiles of tile_ow pixels and one block of channels."""
    return _schedule(cfg, outs, "conv2d_NCHWc")


@register_topi_schedule("depthwise_conv2d_NCHWc.x86")
def schedule_depthwise_conv2d_nchwc(cfg: Any, outs: Any) -> Any:
    """The same, each channel alone."""
    return _schedule(cfg, outs, "depthwise_conv2d_NCHWc")
