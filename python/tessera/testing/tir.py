"""Helpers for tests of TVMScript."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from ..error import DiagnosticError
from ..script import from_source
from ..tir import Schedule

__all__ = ["check_error", "mma_schedule"]


def check_error(func: Callable[..., Any], rel_lineno: int) -> None:
    """Asserts that a function is no TVMScript because of one line, counted from 1, which is `def`.

    A comment ``# check_error: words`` on that line is what the message must hold.
    """
    source = "@T.prim_func\n" + textwrap.dedent(inspect.getsource(func))
    try:
        from_source(source)
    except DiagnosticError as error:
        text = str(error)
    else:
        raise AssertionError(f"{func.__name__} is TVMScript without an error")
    found = re.search(r"--> .*:(\d+):\d+$", text, re.MULTILINE)
    assert found, f"the error names no line: {text}"
    line = int(found.group(1)) - 1  # the decorator stands above
    assert line == rel_lineno, f"expected an error on line {rel_lineno}, but it was on {line}"
    words = re.search(r"check_error: (.+)$", source.splitlines()[rel_lineno])
    if words:
        assert words.group(1).strip() in text


def mma_schedule(
    workload: Any,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: list[Any],
    j_factors: list[Any],
    k_factors: list[Any],
    index_map_A: Callable[..., Any],
    index_map_B: Callable[..., Any],
    index_map_C: Callable[..., Any],
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mma_intrin: str,
    mma_fill_intrin: str,
    mma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """A matmul whose block is "C", scheduled by matrix instructions (mma.sync) of NVIDIA's GPUs.

    Tiles of 16 x 16 x `k_inner` are what an instruction computes. `i_factors` and `j_factors` split the rest of rows and
    columns in five: grid, grid, warps of a block, and two loops of a warp; `k_factors` in three.
    """
    sch = Schedule(workload)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i, i_inner = sch.split(i, factors=[None, 16])
    j, j_inner = sch.split(j, factors=[None, 16])
    k, k_inner_loop = sch.split(k, factors=[None, k_inner])
    sch.reorder(i, j, k, i_inner, j_inner, k_inner_loop)
    outer = sch.blockize(i_inner)

    i0, i1, i2, i3, i4 = sch.split(i, factors=i_factors)
    j0, j1, j2, j3, j4 = sch.split(j, factors=j_factors)
    k0, k1, k2 = sch.split(k, factors=k_factors)
    sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3, k2, i4, j4)
    sch.bind(sch.fuse(i0, j0), "blockIdx.x")
    sch.bind(sch.fuse(i1, j1), "blockIdx.y")
    warp = sch.fuse(j2, i2)
    sch.bind(warp, "threadIdx.y")
    warps = int(i_factors[2] or 1) * int(j_factors[2] or 1)

    def to_shared(index: int) -> None:
        """All threads copy vectors; rows are padded so that they fall on different banks."""
        copy = sch.cache_read(outer, index, shared_scope)
        sch.compute_at(copy, k0)
        lanes, offset = (16, 16) if in_dtype == "int8" else (8, 8)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, thread_y, thread_x, vector = sch.split(fused, factors=[None, warps, 32, lanes])
        sch.bind(thread_x, "threadIdx.x")
        sch.bind(thread_y, "threadIdx.y")
        sch.vectorize(vector)
        sch.storage_align(copy, 0, axis=-2, factor=32, offset=offset)

    def tile(copy: Any, height: int, width: int) -> Any:
        rows, columns = sch.get_loops(copy)[-2:]
        rows, inner_rows = sch.split(rows, factors=[None, height])
        columns, inner_columns = sch.split(columns, factors=[None, width])
        sch.reorder(rows, columns, inner_rows, inner_columns)
        return inner_rows

    to_shared(0)
    to_shared(1)
    a_warp = sch.cache_read(outer, 0, "warp")
    b_warp = sch.cache_read(outer, 1, "warp")
    sch.compute_at(a_warp, k1)
    sch.compute_at(b_warp, k1)
    c_warp = sch.cache_write(outer, 0, "warp")
    sch.reverse_compute_at(c_warp, warp)
    tile(c_warp, 16, 16)
    sch.decompose_reduction(outer, sch.get_loops(outer)[3])
    a_tile = tile(a_warp, 16, k_inner)
    b_tile = tile(b_warp, *((16, k_inner) if b_transposed else (k_inner, 16)))
    sch.transform_layout(a_warp, ("write", 0), index_map_A)
    sch.transform_layout(b_warp, ("write", 0), index_map_B)
    sch.transform_layout(c_warp, ("read", 0), index_map_C)
    sch.tensorize(a_tile, ldmatrix_a_intrin)
    sch.tensorize(b_tile, ldmatrix_b_intrin)
    sch.tensorize(sch.get_loops(block)[-3], mma_intrin)
    sch.tensorize(sch.get_loops(sch.get_block("C_init"))[-2], mma_fill_intrin)
    sch.tensorize(sch.get_loops(c_warp)[-2], mma_store_intrin)
    return sch
