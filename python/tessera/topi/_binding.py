"""Pieces of GPU schedules that scripts write by hand: tiles bound to blocks and threads, copies in another order, GEMMs."""

from __future__ import annotations

from typing import Any

from .. import te
from ..target import Target
from ..te import Schedule, Tensor

__all__ = [
    "decl_batched_gemm",
    "decl_gemm",
    "decl_winograd_gemm",
    "fuse_and_bind",
    "interleave_transpose",
    "pack_tensor",
    "tile_and_bind",
    "tile_and_bind3d",
    "transpose",
    "transpose_interleave",
]


def _bind(stage: Any, outer: Any, inner: Any, letter: str) -> None:
    stage.bind(outer, te.thread_axis(f"blockIdx.{letter}"))
    stage.bind(inner, te.thread_axis(f"threadIdx.{letter}"))


def fuse_and_bind(s: Schedule, tensor: Tensor, axis: Any = None, num_thread: int | None = None) -> tuple[Any, Any]:
    """One loop over the axes (all), split over blocks and `num_thread` threads (the target's)."""
    target: Any = Target.current(allow_none=False)
    threads = num_thread or int(target.max_num_threads)
    fused = s[tensor].fuse(*(axis or s[tensor].op.axis))
    outer, inner = s[tensor].split(fused, threads)
    _bind(s[tensor], outer, inner, "x")
    return outer, inner


def tile_and_bind(s: Schedule, tensor: Tensor, y: Any, x: Any, y_factor: int, x_factor: int | None = None) -> Any:
    """Tiles over two axes, blocks outside and threads inside."""
    outer_y, outer_x, inner_y, inner_x = s[tensor].tile(y, x, y_factor, x_factor or y_factor)
    _bind(s[tensor], outer_y, inner_y, "y")
    _bind(s[tensor], outer_x, inner_x, "x")
    return outer_y, outer_x, inner_y, inner_x


def tile_and_bind3d(
    s: Schedule,
    tensor: Tensor,
    z: Any,
    y: Any,
    x: Any,
    z_factor: int = 2,
    y_factor: int | None = None,
    x_factor: int | None = None,
) -> Any:
    """The same over three axes."""
    y_factor = y_factor or z_factor
    x_factor = x_factor or y_factor
    pairs = [s[tensor].split(axis, factor) for axis, factor in ((z, z_factor), (y, y_factor), (x, x_factor))]
    outer, inner = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    s[tensor].reorder(*outer, *inner)
    for first, second, letter in zip(outer, inner, "zyx"):
        _bind(s[tensor], first, second, letter)
    return (*outer, *inner)


def _copy(s: Schedule, tensor: Tensor, readers: Any) -> Tensor:
    return s.cache_read(tensor, "global", readers)


def pack_tensor(s: Schedule, tensor: Tensor, factor: int, readers: Any) -> Tensor:
    """A copy that is written `factor` columns at a time."""
    out = _copy(s, tensor, readers)
    y, x = s[out].op.axis[-2:]
    outer, inner = s[out].split(x, factor)
    s[out].reorder(outer, y, inner)
    fuse_and_bind(s, out, [outer, y])
    return out


def transpose(s: Schedule, tensor: Tensor, y_index: int, x_index: int, readers: Any) -> Tensor:
    """A copy whose columns are written before its rows."""
    out = _copy(s, tensor, readers)
    y, x = s[out].op.axis[y_index], s[out].op.axis[x_index]
    s[out].reorder(x, y)
    fuse_and_bind(s, out, [x, y])
    return out


def interleave_transpose(
    s: Schedule, tensor: Tensor, width: int, y_index: int, x_index: int, readers: Any, batched: bool = False
) -> Tensor:
    """A copy in which `width` rows are interleaved, column by column."""
    out = _copy(s, tensor, readers)
    y, x = s[out].op.axis[y_index], s[out].op.axis[x_index]
    outer, inner = s[out].split(y, width)
    s[out].reorder(outer, x, inner)
    fuse_and_bind(s, out, [s[out].op.axis[0], outer, x] if batched else [outer, x])
    return out


def transpose_interleave(
    s: Schedule, tensor: Tensor, width: int, y_index: int, x_index: int, readers: Any, batched: bool = False
) -> Tensor:
    """A copy in which `width` columns are interleaved, row by row."""
    return interleave_transpose(s, tensor, width, x_index, y_index, readers, batched)


def decl_gemm(cfg: Any, A: Tensor, B: Tensor) -> Tensor:
    """A matmul of (m, k) and (k, n)."""
    del cfg
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="gemm")


def decl_batched_gemm(cfg: Any, A: Tensor, B: Tensor) -> Tensor:
    """Matmuls of (b, m, k) and (b, k, n)."""
    del cfg
    k = te.reduce_axis((0, A.shape[2]), name="k")
    shape = (A.shape[0], A.shape[1], B.shape[2])
    return te.compute(shape, lambda b, i, j: te.sum(A[b, i, k] * B[b, k, j], axis=k), name="batched_gemm")


def decl_winograd_gemm(cfg: Any, A: Tensor, B: Tensor) -> Tensor:
    """Matmuls of (alpha, alpha, m, k) and (alpha, alpha, k, n), one for each element of a tile."""
    del cfg
    k = te.reduce_axis((0, A.shape[3]), name="k")
    shape = (A.shape[0], A.shape[1], A.shape[2], B.shape[3])
    return te.compute(shape, lambda a, b, i, j: te.sum(A[a, b, i, k] * B[a, b, k, j], axis=k), name="winograd_gemm")
