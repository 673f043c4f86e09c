"""dense_nopack.x86, dense_pack.x86 and batch_matmul.x86."""

from __future__ import annotations

from typing import Any

from ... import te
from ..task import register_topi_compute, register_topi_schedule
from ..task.entities import SplitEntity
from .contractions import largest_factor

__all__ = [
    "batch_matmul",
    "dense_nopack",
    "dense_pack",
    "schedule_batch_matmul",
    "schedule_dense_nopack",
    "schedule_dense_pack",
    "with_bias",
]

_MAX_INNER = 16


def with_bias(result: Any, bias: Any) -> Any:
    """The results of a layer with its bias, where it has one."""
    if bias is None:
        return result
    return te.compute(result.shape, lambda i, j: result[i, j] + bias[j].astype(result.dtype), tag="broadcast")


@register_topi_compute("dense_nopack.x86")
def dense_nopack(cfg: Any, data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    """x W^T with sums in tile_k lanes, which are added up at the end."""
    out_dtype = out_dtype or data.dtype
    (m, k), n = (int(extent) for extent in data.shape), int(weight.shape[0])
    cfg.define_split("tile_y", m, num_outputs=2)
    cfg.define_split("tile_x", n, num_outputs=2)
    cfg.define_split("tile_k", k, num_outputs=2)
    if cfg.is_fallback:
        for name, extent in {"tile_y": m, "tile_x": n, "tile_k": k}.items():
            cfg[name] = SplitEntity([-1, largest_factor(extent, 16 if name == "tile_k" else 4)])
    lanes = cfg["tile_k"].size[-1]
    step = te.reduce_axis((0, k // lanes), name="k")
    parts = te.compute(
        (m, n, lanes),
        lambda i, j, lane: te.sum(
            data[i, step * lanes + lane].astype(out_dtype) * weight[j, step * lanes + lane].astype(out_dtype), axis=step
        ),
        name="parts",
    )
    lane = te.reduce_axis((0, lanes), name="lane")
    result = te.compute((m, n), lambda i, j: te.sum(parts[i, j, lane], axis=lane), tag="dense_nopack")
    return with_bias(result, bias)


@register_topi_compute("dense_pack.x86")
def dense_pack(cfg: Any, data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    """x W^T with W packed in panels of the last part of tile_x; a weight of three dimensions is packed already."""
    out_dtype = out_dtype or data.dtype
    m, k = (int(extent) for extent in data.shape)
    is_packed = len(weight.shape) == 3
    n = int(weight.shape[0]) * int(weight.shape[2]) if is_packed else int(weight.shape[0])
    cfg.define_split("tile_y", m, num_outputs=3)
    cfg.define_split("tile_x", n, num_outputs=3)
    cfg.define_split("tile_k", k, num_outputs=2)
    cfg.define_split("tile_inner", m, num_outputs=2, filter=lambda each: each.size[-1] <= _MAX_INNER)
    if cfg.is_fallback:
        cfg["tile_y"] = SplitEntity([-1, 1, largest_factor(m, 8)])
        cfg["tile_x"] = SplitEntity([-1, 1, largest_factor(n, 16)])
        cfg["tile_k"] = SplitEntity([-1, largest_factor(k, 16)])
        cfg["tile_inner"] = SplitEntity([-1, largest_factor(m, 8)])
    width = int(weight.shape[2]) if is_packed else cfg["tile_x"].size[-1]
    panels = weight
    if not is_packed:
        panels = te.compute(
            (n // width, k, width), lambda j, i, lane: weight[j * width + lane, i], name="packed_weight"
        )
    step = te.reduce_axis((0, k), name="k")
    result = te.compute(
        (m, n),
        lambda i, j: te.sum(
            data[i, step].astype(out_dtype)
            * panels[te.indexdiv(j, width), step, te.indexmod(j, width)].astype(out_dtype),
            axis=step,
        ),
        tag="dense_pack",
    )
    return with_bias(result, bias)


@register_topi_compute("batch_matmul.x86")
def batch_matmul(
    cfg: Any,
    tensor_a: Any,
    tensor_b: Any,
    out_shape: Any = None,
    out_dtype: Any = None,
    transpose_a: Any = False,
    transpose_b: Any = True,
) -> Any:
    """Matmuls of a batch, either factor transposed or not."""
    del out_shape
    out_dtype = out_dtype or tensor_a.dtype
    a, b = [int(extent) for extent in tensor_a.shape], [int(extent) for extent in tensor_b.shape]
    m, k = (a[2], a[1]) if transpose_a else (a[1], a[2])
    n = b[1] if transpose_b else b[2]
    cfg.define_split("tile_y", m, num_outputs=2)
    cfg.define_split("tile_x", n, num_outputs=2)
    cfg.define_split("tile_k", k, num_outputs=2)
    if cfg.is_fallback:
        for name, extent in {"tile_y": m, "tile_x": n, "tile_k": k}.items():
            cfg[name] = SplitEntity([-1, largest_factor(extent, 16 if name == "tile_k" else 8)])
    step = te.reduce_axis((0, k), name="k")

    def product(batch: Any, i: Any, j: Any) -> Any:
        left = (
            tensor_a[batch if a[0] > 1 else 0, step, i] if transpose_a else tensor_a[batch if a[0] > 1 else 0, i, step]
        )
        right = (
            tensor_b[batch if b[0] > 1 else 0, j, step] if transpose_b else tensor_b[batch if b[0] > 1 else 0, step, j]
        )
        return te.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=step)

    return te.compute((max(a[0], b[0]), m, n), product, tag="batch_matmul")


def _find(outs: Any, tag: str) -> Any:
    op = outs[0].op
    while op.tag != tag:
        op = next(tensor.op for tensor in op.input_tensors if isinstance(tensor.op, te.ComputeOp))
    return op.output(0)


def _outs(outs: Any) -> list[Any]:
    return [outs] if isinstance(outs, te.Tensor) else list(outs)


@register_topi_schedule("dense_nopack.x86")
def schedule_dense_nopack(cfg: Any, outs: Any) -> Any:
    """Tiles of tile_y x tile_x results."""
    outs = _outs(outs)
    s = te.create_schedule([out.op for out in outs])
    result, out = _find(outs, "dense_nopack"), outs[0]
    parts = result.op.input_tensors[0]
    y, x = s[out].op.axis
    yo, yi = cfg["tile_y"].apply(s, out, y)
    xo, xi = cfg["tile_x"].apply(s, out, x)
    s[out].reorder(yo, xo, yi, xi)
    fused = s[out].fuse(yo, xo)
    s[out].parallel(fused)
    if not out.op.same_as(result.op):
        s[result].compute_at(s[out], fused)
    s[parts].compute_at(s[out], fused)
    i, j, lane = s[parts].op.axis
    s[parts].reorder(s[parts].op.reduce_axis[0], i, j, lane)
    s[parts].vectorize(lane)
    s[parts].unroll(j)
    return s


@register_topi_schedule("dense_pack.x86")
def schedule_dense_pack(cfg: Any, outs: Any) -> Any:
    """Blocks of tiles; a tile is the last part of tile_y x tile_x."""
    outs = _outs(outs)
    s = te.create_schedule([out.op for out in outs])
    result, out = _find(outs, "dense_pack"), outs[0]
    panels = result.op.input_tensors[1]
    if isinstance(panels.op, te.ComputeOp):
        j, _, lane = s[panels].op.axis
        s[panels].parallel(j)
        s[panels].vectorize(lane)
    sums = s.cache_write(result, "global")
    y, x = s[out].op.axis
    yt, yo, yi = cfg["tile_y"].apply(s, out, y)
    xt, xo, xi = cfg["tile_x"].apply(s, out, x)
    s[out].reorder(xt, yt, yo, xo, yi, xi)
    fused = s[out].fuse(xt, yt)
    s[out].parallel(fused)
    s[out].vectorize(xi)
    if not out.op.same_as(result.op):
        s[result].compute_at(s[out], xo)
    s[sums].compute_at(s[out], xo)
    i, j = s[sums].op.axis
    ko, ki = cfg["tile_k"].apply(s, sums, s[sums].op.reduce_axis[0])
    s[sums].reorder(ko, ki, i, j)
    s[sums].vectorize(j)
    s[sums].unroll(i)
    return s


@register_topi_schedule("batch_matmul.x86")
def schedule_batch_matmul(cfg: Any, outs: Any) -> Any:
    """Tiles of tile_y x tile_x results, k in steps of tile_k."""
    outs = _outs(outs)
    s = te.create_schedule([out.op for out in outs])
    result, out = _find(outs, "batch_matmul"), outs[0]
    sums = s.cache_write(result, "global")
    batch, y, x = s[out].op.axis
    yo, yi = cfg["tile_y"].apply(s, out, y)
    xo, xi = cfg["tile_x"].apply(s, out, x)
    s[out].reorder(batch, yo, xo, yi, xi)
    fused = s[out].fuse(s[out].fuse(batch, yo), xo)
    s[out].parallel(fused)
    s[out].vectorize(xi)
    if not out.op.same_as(result.op):
        s[result].compute_at(s[out], fused)
    s[sums].compute_at(s[out], fused)
    _, i, j = s[sums].op.axis
    ko, ki = cfg["tile_k"].apply(s, sums, s[sums].op.reduce_axis[0])
    s[sums].reorder(ko, ki, i, j)
    s[sums].vectorize(j)
    s[sums].unroll(i)
    return s
