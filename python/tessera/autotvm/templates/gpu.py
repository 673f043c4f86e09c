"""Templates of v0.10 for GPUs whose contractions run in tiles of threads: a row each, of the task's name, the compute and its knobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import te
from ...topi import nn
from ...topi.cuda import conv_int8
from ...topi.cuda.tensor_intrin import dp4a
from ..task import register_topi_compute, register_topi_schedule
from ..task.entities import SplitEntity
from ..task.topi_integration import get_workload
from .contractions import as_outs, contraction_of, inline_copies
from .gpu_tiles import Tiles, schedule_tiles, unroll_knobs

__all__ = ["register", "register_tiles"]

_DOT = 4  # multiplications of int8 that an instruction adds up


def register(name: str, compute: Callable, schedule: Callable[[Any, Any, tuple[Any, ...]], Any]) -> None:
    """A template of a compute `f(*args)` and a schedule `f(cfg, outs, workload)`."""

    def computed(cfg: Any, *args: Any) -> Any:
        del cfg
        return compute(*args)

    def scheduled(cfg: Any, outs: Any) -> Any:
        return schedule(cfg, outs, get_workload(outs, name) or (name,))

    register_topi_compute(name, computed)
    register_topi_schedule(name, scheduled)


def register_tiles(name: str, compute: Callable, tiles: Tiles, groups: int | None = None) -> None:
    """`groups`: which argument of the compute says how many groups of channels there are."""

    def schedule(cfg: Any, outs: Any, workload: tuple[Any, ...]) -> Any:
        return schedule_tiles(cfg, outs, tiles, int(workload[1 + groups]) if groups is not None else 1)

    register(name, compute, schedule)


# ---- convolutions ------------------------------------------------------------------------------------------------------


def _nhwc_knobs(cfg: Any, sums: Any) -> dict[str, Any]:
    del sums
    for name in ("tile_n", "tile_c"):
        cfg.define_knob(name, [2, 4, 8])
    for name in ("num_thread_n", "num_thread_c"):
        cfg.define_knob(name, [4, 8, 16])
    for name in ("vthread_n", "vthread_c"):
        cfg.define_knob(name, [1, 2])
    cfg.define_knob("step", [16, 3, 32, 64])
    cfg.define_knob("vectorize", [1, 2, 4, 8])

    def split(axis: str) -> SplitEntity:
        return SplitEntity([-1, *(int(cfg[f"{part}_{axis}"].val) for part in ("vthread", "num_thread", "tile"))])

    return {"n": split("n"), "c": split("c"), "step": SplitEntity([-1, int(cfg["step"].val)])}


def _hwcn_knobs(cfg: Any, sums: Any) -> dict[str, Any]:
    _, _, channels, batch = (int(axis.dom.extent) for axis in sums.op.axis)
    cfg.define_split("tile_fi", channels, num_outputs=4)
    cfg.define_split("tile_ni", batch, num_outputs=4)
    if cfg.is_fallback:
        cfg.fallback_split("tile_fi", [-1, 2, 8, 4])
        cfg.fallback_split("tile_ni", [-1, 2, 8, 4])
    return {"fi": cfg["tile_fi"], "ni": cfg["tile_ni"], "rc": SplitEntity([-1, 8])}


_CONV2D = Tiles("- tile_f tile_y tile_x", "tile_rc tile_ry tile_rx")
_CONV1D = Tiles("tile_n tile_f tile_x", "tile_rc -", (64, 512, 1500), reduce_parts=3)
_CONV3D = Tiles("- tile_f tile_d tile_y tile_x", "tile_rc tile_rd tile_ry tile_rx")

register_tiles("conv2d_nchw.cuda", nn.conv2d_nchw, _CONV2D)
register_tiles("conv2d_nhwc.gpu", nn.conv2d_nhwc, Tiles("n - - c", "- - step", define=_nhwc_knobs))
register_tiles("conv2d_hwcn.cuda", nn.conv2d_hwcn, Tiles("- - fi ni", "rc - -", define=_hwcn_knobs))
register_tiles(
    "depthwise_conv2d_nchw.cuda", nn.depthwise_conv2d_nchw, Tiles("- tile_f tile_y tile_x", "- -", (0, 256, 1500))
)
register_tiles(
    "group_conv2d_nchw.cuda",
    nn.group_conv2d_nchw,
    Tiles("tile_n tile_g/tile_f tile_y tile_x", "tile_rc tile_ry tile_rx"),
    groups=5,
)
register_tiles("conv1d_ncw.cuda", nn.conv1d_ncw, _CONV1D)
register_tiles(
    "conv1d_nwc.cuda", nn.conv1d_nwc, Tiles("tile_n tile_x tile_f", "- tile_rc", (64, 512, 1500), reduce_parts=3)
)
register_tiles(
    "group_conv1d_ncw.cuda", nn.group_conv1d_ncw, Tiles("tile_n tile_g/tile_f tile_x", "tile_rc tile_rx"), groups=5
)
register_tiles(
    "group_conv1d_nwc.cuda", nn.group_conv1d_nwc, Tiles("tile_n tile_x tile_g/tile_f", "tile_rx tile_rc"), groups=5
)
register_tiles("conv1d_transpose_nchw.cuda", nn.conv1d_transpose_ncw, _CONV1D)
register_tiles(
    "conv2d_transpose_nchw.cuda",
    lambda data, kernel, strides, padding, out_dtype, output_padding, groups=1: nn.group_conv2d_transpose_nchw(
        data, kernel, strides, padding, out_dtype, output_padding, groups
    ),
    Tiles("tile_n tile_f tile_y tile_x", "tile_rc tile_ry tile_rx", (64, 512, 1500)),
)
register_tiles("conv3d_ncdhw.cuda", nn.conv3d_ncdhw, _CONV3D)
register_tiles(
    "conv3d_ndhwc.cuda", nn.conv3d_ndhwc, Tiles("- tile_d tile_y tile_x tile_f", "tile_rd tile_ry tile_rx tile_rc")
)
register_tiles("conv3d_transpose_ncdhw.cuda", nn.conv3d_transpose_ncdhw, _CONV3D)
register_tiles("correlation_nchw.cuda", nn.correlation_nchw, _CONV2D)
register_tiles("deformable_conv2d_nchw.cuda", nn.deformable_conv2d_nchw, _CONV2D)


# ---- matmuls -----------------------------------------------------------------------------------------------------------


def _large_batch_knobs(cfg: Any, sums: Any) -> dict[str, Any]:
    """Tiles of 64 or 128 by 8 to 64 threads; any tiles where the layer has none of these."""
    extents = {f"tile_{word}": int(axis.dom.extent) for word, axis in zip("xy", sums.op.axis)}
    depth = int(sums.op.reduce_axis[0].dom.extent)

    def is_wide(entity: Any) -> bool:
        _, virtual, threads, inner = entity.size
        return (
            virtual in (2, 4, 8, 16, 32, 64) and threads in (8, 16, 32, 64) and virtual * threads * inner in (64, 128)
        )

    try:
        for word, extent in extents.items():
            cfg.define_split(word, extent, num_outputs=4, filter=is_wide)
        cfg.define_split(
            "tile_k", depth, num_outputs=3, filter=lambda entity: depth // entity.size[1] // entity.size[2] > 2
        )
    except RuntimeError:  # a filter has left nothing
        for word, extent in extents.items():
            cfg.define_split(word, extent, num_outputs=4)
        cfg.define_split("tile_k", depth, num_outputs=3)
    if cfg.is_fallback:
        for word in extents:
            cfg.fallback_split(word, [-1, 2, 16, 2])
        cfg.fallback_split("tile_k", [-1, 4, 2])
    return {word: cfg[word] for word in (*extents, "tile_k")}


def _batch_matmul_knobs(cfg: Any, sums: Any) -> dict[str, Any]:
    _, rows, columns = (int(axis.dom.extent) for axis in sums.op.axis)
    cfg.define_split("tile_y", rows, num_outputs=3)
    cfg.define_split("tile_x", columns, num_outputs=3)
    cfg.define_split("tile_k", int(sums.op.reduce_axis[0].dom.extent), num_outputs=2)
    unroll_knobs(cfg, (8, 16, 32, 64))
    if cfg.is_fallback:
        for word in ("tile_y", "tile_x"):
            cfg.fallback_split(word, [-1, 8, 8])
        cfg.fallback_split("tile_k", [-1, 8])
    tiles = {word: SplitEntity([-1, 1, *cfg[word].size[1:]]) for word in ("tile_y", "tile_x")}
    return {**tiles, "tile_k": cfg["tile_k"]}


def _small_batch(cfg: Any, outs: Any, _: tuple[Any, ...]) -> Any:
    """Threads of a block add up parts of one result."""
    outs = as_outs(outs)
    s = te.create_schedule([out.op for out in outs])
    sums, out = contraction_of(outs), outs[0]
    inline_copies(s, outs)
    cfg.define_split("tile_k", int(sums.op.reduce_axis[0].dom.extent), num_outputs=2)
    if cfg.is_fallback:
        cfg.fallback_split("tile_k", [-1, 64])
    _, lane = cfg["tile_k"].apply(s, sums, sums.op.reduce_axis[0])
    parts = s.rfactor(sums, lane)
    thread = te.thread_axis("threadIdx.x")
    (reduce,) = s[sums].op.reduce_axis
    s[sums].bind(reduce, thread)
    s[parts].compute_at(s[sums], reduce)
    for number, axis in enumerate(reversed(list(s[out].op.axis))):
        s[out].bind(axis, te.thread_axis(f"blockIdx.{'xyz'[number]}"))
    if not sums.op.same_as(out.op):
        s[sums].compute_at(s[out], s[out].op.axis[-1])
        s[out].set_store_predicate(thread.var.equal(0))
    else:
        s[sums].set_store_predicate(thread.var.equal(0))
    return s


def _dense(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    return nn.dense(data, weight, bias, out_dtype or data.dtype)


register("dense_small_batch.gpu", _dense, _small_batch)
register_tiles("dense_large_batch.gpu", _dense, Tiles("tile_x tile_y", "tile_k", define=_large_batch_knobs))
register("matmul_default.gpu", nn.matmul, _small_batch)
register_tiles(
    "batch_matmul.cuda",
    nn.batch_matmul,
    Tiles("- tile_y tile_x", "tile_k", define=_batch_matmul_knobs),
)


# ---- int8, four multiplications at a time ------------------------------------------------------------------------------


def _dot_in_shared() -> Any:
    return dp4a("shared", "shared", "local")


def _by_fours(extent: Any) -> tuple[Any, Any, Any]:
    """The axes of a reduction of int8, and the index they mean."""
    depth = int(extent)
    if depth % _DOT:
        raise ValueError(f"dp4a adds up {_DOT} multiplications at a time, and there are {depth}")
    outer, inner = te.reduce_axis((0, depth // _DOT), name="k"), te.reduce_axis((0, _DOT), name="k_dot")
    return outer, inner, outer * _DOT + inner


def _dense_int8(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    outer, inner, k = _by_fours(data.shape[1])
    dtype = out_dtype or "int32"
    out = te.compute(
        (data.shape[0], weight.shape[0]),
        lambda i, j: te.sum(data[i, k].astype("int32") * weight[j, k].astype("int32"), axis=[outer, inner]),
        name="dense_int8",
        tag="dense_int8",
    )
    if bias is not None:
        return te.compute(out.shape, lambda i, j: (out[i, j] + bias[j].astype("int32")).astype(dtype), tag="broadcast")
    return out if dtype == "int32" else te.compute(out.shape, lambda i, j: out[i, j].astype(dtype))


def _batch_matmul_int8(
    x: Any, y: Any, out_shape: Any = None, out_dtype: Any = None, transpose_a: bool = False, transpose_b: bool = True
) -> Any:
    del out_shape
    if transpose_a or not transpose_b:
        raise ValueError("batch_matmul_int8 takes (b, m, k) and (b, n, k)")
    outer, inner, k = _by_fours(x.shape[2])
    alone = [int(tensor.shape[0]) == 1 for tensor in (x, y)]

    def element(b: Any, i: Any, j: Any) -> Any:
        left, right = x[0 if alone[0] else b, i, k], y[0 if alone[1] else b, j, k]
        return te.sum(left.astype("int32") * right.astype("int32"), axis=[outer, inner])

    shape = (max(int(x.shape[0]), int(y.shape[0])), x.shape[1], y.shape[1])
    out = te.compute(shape, element, name="batch_matmul_int8", tag="batch_matmul_int8")
    dtype = out_dtype or "int32"
    return out if dtype == "int32" else te.compute(shape, lambda *at: out(*at).astype(dtype))


register_tiles(
    "conv2d_NCHWc_int8.cuda",
    conv_int8.conv2d_NCHWc_int8,
    Tiles("tile_n tile_f tile_y tile_x +", "tile_rc tile_ry tile_rx", dot=_dot_in_shared, buffers=True),
)
register_tiles(
    "group_conv2d_NCHWc_int8.cuda",
    conv_int8.group_conv2d_NCHWc_int8,
    Tiles("tile_n tile_g/tile_f tile_y tile_x +", "tile_rc tile_ry tile_rx", dot=_dot_in_shared, buffers=True),
    groups=5,
)
register_tiles("dense_int8.cuda", _dense_int8, Tiles("tile_y tile_x", "tile_k", dot=_dot_in_shared))
register_tiles(
    "batch_matmul_int8.cuda", _batch_matmul_int8, Tiles("tile_f tile_m tile_n", "tile_k", dot=_dot_in_shared)
)
