"""group_conv2d_nchw.x86, conv3d_ncdhw.x86 and conv3d_ndhwc.x86: convolutions of any number of dimensions in tiles of columns and channels."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...topi._records import const_tuple
from ...topi.nn import pad
from ...topi.nn.utils import get_pad_tuple
from ..task import register_topi_compute, register_topi_schedule
from .contractions import MAX_PIXELS, as_outs, contraction_of, largest_factor, stages_before

__all__: list[str] = []

_LANES = 16


class _Window:
    """How a convolution of padded data moves."""

    def __init__(
        self, data: Any, kernel: Any, layouts: tuple[str, str], steps: Any, padding: Any, dilation: Any
    ) -> None:
        self.letters = [letter for letter in layouts[0] if letter in "DHW"]
        self.at = [layouts[0].index(letter) for letter in self.letters]
        count = len(self.letters)
        self.steps, self.spread = const_tuple(steps, count), const_tuple(dilation, count)
        self.kernel = [int(kernel.shape[layouts[1].index(letter)]) for letter in self.letters]
        reach = [(size - 1) * step + 1 for size, step in zip(self.kernel, self.spread)]
        self.pads = [int(each) for each in get_pad_tuple(padding, reach)]
        self.extents = [
            (int(data.shape[at]) + self.pads[i] + self.pads[i + count] - reach[i]) // self.steps[i] + 1
            for i, at in enumerate(self.at)
        ]

    def padded(self, data: Any) -> Any:
        """The data with zeros around."""
        if not any(self.pads):
            return data
        before, after = [0] * len(data.shape), [0] * len(data.shape)
        for i, at in enumerate(self.at):
            before[at], after[at] = self.pads[i], self.pads[i + len(self.at)]
        return pad(data, before, after, name="data_pad")

    def axes(self) -> list[Any]:
        """A reduction over the kernel."""
        return [te.reduce_axis((0, size), name=f"k{letter.lower()}") for size, letter in zip(self.kernel, self.letters)]

    def reads(self, positions: Any, axes: list[Any]) -> list[Any]:
        """Where the data is that an element of the kernel meets."""
        return [at * step + k * spread for at, step, k, spread in zip(positions, self.steps, axes, self.spread)]


def _define(cfg: Any, ins: int, outs: int, columns: int) -> tuple[int, int]:
    """The knobs; the sizes of blocks of channels in and out."""
    cfg.define_split("tile_ic", ins, num_outputs=2)
    cfg.define_split("tile_oc", outs, num_outputs=2)
    cfg.define_split("tile_ow", columns, num_outputs=2, filter=lambda each: each.size[-1] <= MAX_PIXELS)
    cfg.define_knob("unroll_kw", [True, False])
    if cfg.is_fallback:
        for name, extent, most in (("tile_ic", ins, _LANES), ("tile_oc", outs, _LANES), ("tile_ow", columns, 8)):
            cfg.fallback_split(name, [-1, largest_factor(extent, most)])
    return int(cfg["tile_ic"].size[-1]), int(cfg["tile_oc"].size[-1])


def _channels_first(
    cfg: Any, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any, tag: str
) -> Any:
    """NC...W by OI...W, the weight packed in blocks of tile_oc."""
    letters = "DHW"[5 - len(data.shape) :]
    window = _Window(data, kernel, ("NC" + letters, "OI" + letters), strides, padding, dilation)
    outs, ins = (int(extent) for extent in kernel.shape[:2])
    _, block = _define(cfg, ins, outs // groups, window.extents[-1])
    blocks_of_group = outs // groups // block
    padded = window.padded(data)
    packed = te.compute(
        (outs // block, ins, *window.kernel, block),
        lambda o, i, *at: kernel[(o * block + at[-1], i, *at[:-1])],
        name="kernel_vec",
    )
    channel: Any = te.reduce_axis((0, ins), name="ic")
    axes = window.axes()

    def element(n: Any, o: Any, *at: Any) -> Any:
        group: Any = tir.floordiv(o, blocks_of_group)
        first = group * ins if groups > 1 else 0
        value = padded[(n, first + channel, *window.reads(at[:-1], axes))]
        weight = packed[(o, channel, *axes, at[-1])]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[channel, *axes])

    sums = te.compute((data.shape[0], outs // block, *window.extents, block), element, name="conv", tag="conv_blocks")
    return te.compute(
        (data.shape[0], outs, *window.extents),
        lambda n, o, *at: sums[(n, tir.floordiv(o, block), *at, tir.floormod(o, block))],
        name="unpacked",
        tag=tag,
    )


@register_topi_compute("group_conv2d_nchw.x86")
def group_conv2d_nchw(
    cfg: Any, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any = "float32"
) -> Any:
    """A convolution in groups of channels."""
    return _channels_first(cfg, data, kernel, strides, padding, dilation, groups, out_dtype, "group_conv2d_nchw")


@register_topi_compute("conv3d_ncdhw.x86")
def conv3d_ncdhw(
    cfg: Any, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any
) -> Any:
    """A convolution of volumes, channels first."""
    return _channels_first(cfg, data, kernel, strides, padding, dilation, groups, out_dtype, "conv3d_ncdhw")


@register_topi_compute("conv3d_ndhwc.x86")
def conv3d_ndhwc(
    cfg: Any, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any
) -> Any:
    """A convolution of volumes, channels last: the weight needs no packing."""
    window = _Window(data, kernel, ("NDHWC", "DHWIO"), strides, padding, dilation)
    ins, outs = (int(extent) for extent in kernel.shape[3:])
    _define(cfg, ins, outs // groups, window.extents[-1])
    padded = window.padded(data)
    channel: Any = te.reduce_axis((0, ins), name="ic")
    axes = window.axes()

    def element(n: Any, *at: Any) -> Any:
        group: Any = tir.floordiv(at[-1], outs // groups)
        first = group * ins if groups > 1 else 0
        value = padded[(n, *window.reads(at[:-1], axes), first + channel)]
        weight = kernel[(*axes, channel, at[-1])]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[channel, *axes])

    return te.compute((data.shape[0], *window.extents, outs), element, name="conv", tag="conv3d_ndhwc")


def _fuse_parallel(stage: Any, loops: list[Any]) -> None:
    outer = loops[0]
    for loop in loops[1:]:
        outer = stage.fuse(outer, loop)
    stage.parallel(outer)


def _schedule_sums(
    cfg: Any, stage: Any, schedule: Any, sums: Any, column: Any, channel: Any, others: list[Any]
) -> None:
    """Registers of a tile: columns by lanes of channels, a block of channels in innermost of the reduction."""
    ic, *kernel = stage.op.reduce_axis
    outer, inner = cfg["tile_ic"].apply(schedule, sums, ic)
    stage.reorder(*others, outer, *kernel, inner, column, channel)
    stage.vectorize(channel)
    stage.unroll(column)
    if cfg["unroll_kw"].val:
        stage.unroll(kernel[-1])


def _schedule(cfg: Any, outs: Any) -> Any:
    outs = as_outs(outs)
    s = te.create_schedule([out.op for out in outs])
    conv, out = contraction_of(outs), outs[0]
    for op in stages_before(outs):
        if op.name in ("data_pad", "kernel_vec"):
            stage = s[op.output(0)]
            _fuse_parallel(stage, list(stage.op.axis[:2]))
            stage.vectorize(stage.op.axis[-1])
    has_blocks = conv.op.tag == "conv_blocks"
    sums = conv if has_blocks else s.cache_write(conv, "global")
    axes = list(s[out].op.axis)
    channel_at, column_at = (1, len(axes) - 1) if has_blocks else (len(axes) - 1, len(axes) - 2)
    oc, oi = cfg["tile_oc"].apply(s, out, axes[channel_at])
    xo, xi = cfg["tile_ow"].apply(s, out, axes[column_at])
    rest = [axis for i, axis in enumerate(axes) if i not in (channel_at, column_at)]
    s[out].reorder(rest[0], oc, *rest[1:], xo, xi, oi)
    s[out].vectorize(oi)
    for op in stages_before(outs):
        if op.name == "unpacked" and not op.same_as(out.op):
            s[op.output(0)].compute_inline()
    s[sums].compute_at(s[out], xo)
    inner = list(s[sums].op.axis)
    _schedule_sums(cfg, s[sums], s, sums, inner[-2], inner[-1], inner[:-2])
    _fuse_parallel(s[out], [rest[0], oc, *rest[1:]])
    return s


for _name in ("group_conv2d_nchw.x86", "conv3d_ncdhw.x86", "conv3d_ndhwc.x86"):
    register_topi_schedule(_name, _schedule)
