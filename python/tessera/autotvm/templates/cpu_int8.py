"""conv2d_NCHWc_int8.x86, dense_vnni.x86 and batch_matmul_vnni.x86: uint8 by int8, four multiplications of a lane at a time."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...target import Target
from ...topi.x86.tensor_intrin import dot_16x1x16_uint8_int8_int32
from ...topi.x86.utils import target_has_avx512
from ..task import register_topi_compute, register_topi_schedule
from .contractions import MAX_PIXELS, as_outs, contraction_of, largest_factor, stages_before
from .conv2d import Sizes, data_blocks, define_rows_or_unroll, padded
from .matmul import with_bias

__all__: list[str] = []

_LANES, _DOT = 16, 4


def _by_instruction(schedule: Any, sums: Any, lanes: Any, dot: Any) -> None:
    """The dot products of a vector, by an instruction where the target has one for these types."""
    stage = schedule[sums]
    target = Target.current(allow_none=True)
    types = [tensor.dtype for tensor in stage.op.input_tensors]
    if target is not None and target_has_avx512(target.mcpu) and types == ["uint8", "int8"]:
        stage.tensorize(lanes, dot_16x1x16_uint8_int8_int32())
    else:
        stage.reorder(dot, lanes)
        stage.vectorize(lanes)
        stage.unroll(dot)


def _sum(value: Any, weight: Any, axes: list[Any]) -> Any:
    return te.sum(value.astype("int32") * weight.astype("int32"), axis=axes)


def _with_type(result: Any, out_dtype: Any) -> Any:
    if out_dtype in (None, "int32"):
        return result
    return te.compute(result.shape, lambda *at: result(*at).astype(out_dtype), tag="elemwise")


@register_topi_compute("conv2d_NCHWc_int8.x86")
def conv2d_nchwc_int8(
    cfg: Any,
    data: Any,
    kernel: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    layout: Any,
    out_layout: Any,
    out_dtype: Any = "int32",
) -> Any:
    """Channels in blocks of tile_ic and tile_oc; data in NCHW and weights in OIHW are packed first."""
    del layout, out_layout
    sizes = Sizes(data, kernel, strides, padding, dilation)
    cfg.define_split("tile_ic", sizes.inputs, num_outputs=2, filter=lambda each: each.size[-1] % _DOT == 0)
    cfg.define_split("tile_oc", sizes.outputs, num_outputs=2, filter=lambda each: each.size[-1] % _LANES == 0)
    cfg.define_split("tile_ow", sizes.ow, num_outputs=2, filter=lambda each: each.size[-1] <= MAX_PIXELS)
    define_rows_or_unroll(cfg, sizes)
    if cfg.is_fallback:
        cfg.fallback_split("tile_ic", [-1, _DOT * largest_factor(sizes.inputs // _DOT, 4)])
        cfg.fallback_split("tile_oc", [-1, _LANES])
        cfg.fallback_split("tile_ow", [-1, 8])
    ic = int(data.shape[4]) if len(data.shape) == 5 else cfg["tile_ic"].size[-1]
    oc = int(kernel.shape[5]) if len(kernel.shape) == 7 else cfg["tile_oc"].size[-1]
    blocks, weights = padded(data_blocks(data, ic), sizes), kernel
    if len(kernel.shape) == 4:
        weights = te.compute(
            (sizes.outputs // oc, sizes.inputs // ic, sizes.kh, sizes.kw, ic // _DOT, oc, _DOT),
            lambda o, i, y, x, f, oi, e: kernel[o * oc + oi, i * ic + f * _DOT + e, y, x],
            name="kernel_vec",
        )
    outer = te.reduce_axis((0, sizes.inputs // ic), name="ic_outer")
    part, dot = te.reduce_axis((0, ic // _DOT), name="ic_part"), te.reduce_axis((0, _DOT), name="ic_dot")
    row, column = te.reduce_axis((0, sizes.kh), name="kh"), te.reduce_axis((0, sizes.kw), name="kw")
    sums = te.compute(
        (sizes.batch, sizes.outputs // oc, sizes.oh, sizes.ow, oc),
        lambda n, o, y, x, oi: _sum(
            blocks[n, outer, y * sizes.sh + row * sizes.dh, x * sizes.sw + column * sizes.dw, part * _DOT + dot],
            weights[o, outer, row, column, part, oi, dot],
            [outer, row, column, part, dot],
        ),
        name="conv2d_NCHWc_int8",
        tag="conv2d_NCHWc_int8",
    )
    return _with_type(sums, out_dtype)


@register_topi_schedule("conv2d_NCHWc_int8.x86")
def schedule_conv2d_nchwc_int8(cfg: Any, outs: Any) -> Any:
    """Tiles of tile_ow pixels and a block of channels."""
    outs = as_outs(outs)
    s = te.create_schedule([out.op for out in outs])
    conv, out = contraction_of(outs), outs[0]
    for op in stages_before(outs):
        if op.name in ("data_vec", "kernel_vec", "data_pad"):
            stage = s[op.output(0)]
            stage.parallel(stage.fuse(*stage.op.axis[:2]))
    sums = s.cache_write(conv, "global") if conv.op.same_as(out.op) else conv
    n, oc, oh, ow, block = s[out].op.axis
    xo, xi = cfg["tile_ow"].apply(s, out, ow)
    s[out].reorder(n, oc, oh, xo, xi, block)
    s[out].vectorize(block)
    s[sums].compute_at(s[out], xo)
    *others, column, lanes = s[sums].op.axis
    first, row, kw, part, dot = s[sums].op.reduce_axis
    vector, lane = s[sums].split(lanes, _LANES)
    s[sums].reorder(*others, first, row, kw, part, column, vector, lane, dot)
    _by_instruction(s, sums, lane, dot)
    s[sums].unroll(column)
    s[sums].unroll(vector)
    if "unroll_kw" in cfg and cfg["unroll_kw"].val:
        s[sums].unroll(kw)
    s[out].parallel(s[out].fuse(s[out].fuse(n, oc), oh))
    return s


# ---- matmuls -----------------------------------------------------------------------------------------------------------


def _rows(cfg: Any, rows: int) -> None:
    cfg.define_split("tile_y", rows, num_outputs=2)
    if cfg.is_fallback:
        cfg.fallback_split("tile_y", [-1, 32])


def _dots(depth: int) -> tuple[Any, Any]:
    if depth % _DOT:
        raise ValueError(f"VNNI adds up {_DOT} multiplications at a time, and there are {depth}")
    return te.reduce_axis((0, depth // _DOT), name="k"), te.reduce_axis((0, _DOT), name="k_dot")


@register_topi_compute("dense_vnni.x86")
def dense_vnni(cfg: Any, data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    """(m, k) by a weight (n / 16, k / 4, 16, 4)."""
    m, depth = (int(extent) for extent in data.shape)
    blocks, _, lanes, _ = (int(extent) for extent in weight.shape)
    _rows(cfg, m)
    step, dot = _dots(depth)
    sums = te.compute(
        (m, blocks * lanes),
        lambda i, j: _sum(
            data[i, step * _DOT + dot], weight[tir.floordiv(j, lanes), step, tir.floormod(j, lanes), dot], [step, dot]
        ),
        name="dense_vnni",
        tag="dense_vnni",
    )
    return _with_type(with_bias(sums, bias), out_dtype)


@register_topi_compute("batch_matmul_vnni.x86")
def batch_matmul_vnni(
    cfg: Any,
    x: Any,
    y: Any,
    out_shape: Any = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Any:
    """(b, m, k) by (b, n, k), which is packed as (b, n / 16, k / 4, 16, 4)."""
    del out_shape
    if transpose_a or not transpose_b:
        raise ValueError("batch_matmul_vnni takes (b, m, k) and (b, n, k)")
    (batches, m, depth), (others, n, _) = ((int(extent) for extent in tensor.shape) for tensor in (x, y))
    _rows(cfg, m)
    packed = te.compute(
        (others, n // _LANES, depth // _DOT, _LANES, _DOT),
        lambda b, j, k, lane, e: y[b, j * _LANES + lane, k * _DOT + e],
        name="kernel_vec",
    )
    step, dot = _dots(depth)
    sums = te.compute(
        (max(batches, others), m, n),
        lambda b, i, j: _sum(
            x[b if batches > 1 else 0, i, step * _DOT + dot],
            packed[b if others > 1 else 0, tir.floordiv(j, _LANES), step, tir.floormod(j, _LANES), dot],
            [step, dot],
        ),
        name="batch_matmul_vnni",
        tag="batch_matmul_vnni",
    )
    return _with_type(sums, out_dtype)


def _schedule_matmul(cfg: Any, outs: Any) -> Any:
    """Blocks of tile_y rows by sixteen columns."""
    outs = as_outs(outs)
    s = te.create_schedule([out.op for out in outs])
    matmul, out = contraction_of(outs), outs[0]
    for op in stages_before(outs):
        if op.name == "kernel_vec":
            s[op.output(0)].parallel(s[op.output(0)].fuse(*s[op.output(0)].op.axis[:2]))
        elif not op.same_as(matmul.op) and not op.same_as(out.op):
            s[op.output(0)].compute_inline()
    sums = s.cache_write(matmul, "global") if matmul.op.same_as(out.op) else matmul
    *batch, y, x = s[out].op.axis
    yo, yi = cfg["tile_y"].apply(s, out, y)
    xo, xi = s[out].split(x, _LANES)
    s[out].reorder(*batch, yo, xo, yi, xi)
    s[out].vectorize(xi)
    s[sums].compute_at(s[out], yi)
    step, dot = s[sums].op.reduce_axis
    lane = s[sums].op.axis[-1]
    s[sums].reorder(*s[sums].op.axis[:-1], step, lane, dot)
    _by_instruction(s, sums, lane, dot)
    fused = s[out].fuse(yo, xo)
    for axis in reversed(batch):
        fused = s[out].fuse(axis, fused)
    s[out].parallel(fused)
    return s


for _name in ("dense_vnni.x86", "batch_matmul_vnni.x86"):
    register_topi_schedule(_name, _schedule_matmul)
