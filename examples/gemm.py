#!/usr/bin/env python
"""A matmul as fast as a BLAS, written as a schedule: once in TE and once with tir.Schedule.

    python examples/gemm.py [M N K]

The plan is that of every fast GEMM (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):

* a micro-kernel multiplies a tile of C with all of its sums in vector registers,
* A and B are copied into panels that it reads from beginning to end,
* loops around it keep a panel of B in L1 and a block of C in L2.

`topi.cpu.gemm_tiles` chooses the sizes for the machine. Any shape works: tiles that stick out of C are filled up with
zeros, and what sticks out is not copied back.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tessera
from tessera import te, tir, topi

# ---- what is computed, the same for both schedules -----------------------------------------------------------------


def blocked_product(M: int, N: int, K: int, t: Any, dtype: str = "float32") -> tuple[Any, ...]:
    """C = A . B through panels: tiles of mr rows of A, of nr columns of B, and of mr x nr elements of C."""

    def tiles(extent: int, size: int) -> int:
        return -(-extent // size)

    depth = tiles(K, t.kc) * t.kc

    def inside(*bounds: tuple[Any, int, int]) -> Any:
        """Index < limit for each (index, limit, largest); none is left where nothing sticks out."""
        checks = [index < limit for index, limit, largest in bounds if largest > limit]
        return te.all(*checks) if checks else None

    def filled_up(value: Any, condition: Any) -> Any:
        return value if condition is None else te.if_then_else(condition, value, tir.const(0, dtype))

    rows, columns = tiles(M, t.mr), tiles(N, t.nr)
    A = te.placeholder((M, K), name="A", dtype=dtype)
    B = te.placeholder((K, N), name="B", dtype=dtype)

    def a_panel(io: Any, ii: Any, k: Any) -> Any:
        i = io * t.mr + ii
        return filled_up(A[i, k], inside((i, M, rows * t.mr), (k, K, depth)))

    def b_panel(jo: Any, k: Any, ji: Any) -> Any:
        j = jo * t.nr + ji
        return filled_up(B[k, j], inside((j, N, columns * t.nr), (k, K, depth)))

    PA = te.compute((rows, t.mr, depth), a_panel, name="PA")
    PB = te.compute((columns, depth, t.nr), b_panel, name="PB")
    k = te.reduce_axis((0, depth), name="k")
    tile = te.compute(
        (rows, columns, t.mr, t.nr),
        lambda io, jo, ii, ji: te.sum(PA[io, ii, k] * PB[jo, k, ji], axis=k),
        name="tile",
    )

    def element(i: Any, j: Any) -> Any:
        value = tile[i // t.mr, j // t.nr, i % t.mr, j % t.nr]
        # A C narrower than a tile: bounds would shrink the tile to it. The other branch asks for all, and is never taken.
        return te.if_then_else(j < N, value, tile[i // t.mr, j // t.nr, i % t.mr, t.nr - 1]) if t.nr > N else value

    C = te.compute((M, N), element, name="C")
    return A, B, PA, PB, tile, C


# ---- TE ------------------------------------------------------------------------------------------------------------


def te_schedule(M: int, N: int, K: int, target: Any = "llvm", threads: int = 0) -> tuple[Any, list[Any]]:
    """A te.Schedule of the product, and its arguments."""
    machine = topi.cpu.machine_of(target)
    t = topi.cpu.gemm_tiles(machine, M, N, K, threads=threads)
    kernel = topi.cpu.micro_kernel(machine.isa, "float32", t.mr, t.nr, t.kc)
    A, B, PA, PB, tile, C = blocked_product(M, N, K, t)
    s = te.create_schedule(C.op)

    # C: a part for each thread, then blocks of mc x nc, which are copied out of `tile` by vectors.
    i, j = s[C].op.axis
    part_i, i = s[C].split(i, factor=t.part_m)
    part_j, j = s[C].split(j, factor=t.part_n)
    block_i, i = s[C].split(i, factor=t.mc)
    block_j, j = s[C].split(j, factor=t.nc)
    j, lanes = s[C].split(j, factor=kernel.lanes)
    s[C].reorder(part_i, part_j, block_j, block_i, i, j, lanes)
    s[C].vectorize(lanes)
    part = s[C].fuse(part_i, part_j)
    s[C].parallel(part)

    # The tiles of a block: k in steps of kc outside, so that a panel of B serves all rows of the block.
    s[tile].compute_at(s[C], block_i)
    io, jo, ii, ji = s[tile].op.axis
    (k,) = s[tile].op.reduce_axis
    ko, ki = s[tile].split(k, factor=t.kc)
    s[tile].reorder(ko, jo, io, ii, ji, ki)
    s[tile].tensorize(ii, kernel.te_intrin())

    # Panels of A are packed for each step; those of B once for the columns of a block, or once for all threads.
    s[PA].compute_at(s[tile], ko)
    _, _, k = s[PA].op.axis
    _, lanes = s[PA].split(k, factor=kernel.lanes)
    s[PA].vectorize(lanes)
    panel, _, j = s[PB].op.axis
    j, lanes = s[PB].split(j, factor=kernel.lanes)
    s[PB].unroll(j)
    s[PB].vectorize(lanes)
    if t.threads_m > 1:
        s[PB].parallel(panel)
    else:
        s[PB].compute_at(s[C], block_j)
    return s, [A, B, C]


def te_gemm(M: int, N: int, K: int, target: Any = "llvm", threads: int = 0) -> Any:
    """The product as a compiled module."""
    s, args = te_schedule(M, N, K, target, threads)
    return tessera.build(s, args, target, name="gemm")


# ---- tir.Schedule --------------------------------------------------------------------------------------------------


def tir_schedule(M: int, N: int, K: int, target: Any = "llvm", threads: int = 0) -> tir.Schedule:
    """The same as a tir.Schedule, which rewrites the program step by step: `print(sch.mod.script())` after any of them."""
    machine = topi.cpu.machine_of(target)
    t = topi.cpu.gemm_tiles(machine, M, N, K, threads=threads)
    kernel = topi.cpu.micro_kernel(machine.isa, "float32", t.mr, t.nr, t.kc)
    A, B, _, _, _, C = blocked_product(M, N, K, t)
    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    PA, PB, tile, out = (sch.get_block(name) for name in ("PA", "PB", "tile", "C"))

    i, j = sch.get_loops(out)
    part_i, i = sch.split(i, [None, t.part_m])
    part_j, j = sch.split(j, [None, t.part_n])
    block_i, i = sch.split(i, [None, t.mc])
    block_j, j = sch.split(j, [None, t.nc])
    sch.reorder(part_i, part_j, block_j, block_i, i, j)
    sch.parallel(sch.fuse(part_i, part_j))

    sch.compute_at(tile, block_i, preserve_unit_loops=True)
    io, jo, ii, ji, k = sch.get_loops(tile)[-5:]
    ko, ki = sch.split(k, [None, t.kc])
    sch.reorder(ko, jo, io, ii, ji, ki)

    sch.compute_at(PA, ko, preserve_unit_loops=True)
    if t.threads_m > 1:
        sch.parallel(sch.get_loops(PB)[0])
    else:
        sch.compute_at(PB, block_j, preserve_unit_loops=True)
    zero = sch.decompose_reduction(tile, ko)
    sch.tensorize(ii, kernel.register())

    # Last, what is copied or cleared goes by vectors; a length that is no multiple of them ends in a masked one.
    for block in (PA, PB, zero, out):
        _, lanes = sch.split(sch.get_loops(block)[-1], [None, kernel.lanes])
        sch.vectorize(lanes)
    return sch


def tir_gemm(M: int, N: int, K: int, target: Any = "llvm", threads: int = 0) -> Any:
    """The product as a compiled module."""
    return tessera.build(tir_schedule(M, N, K, target, threads).mod["main"], target=target, name="gemm")


def main(shape: list[int]) -> None:
    M, N, K = shape or [1000, 900, 800]
    a, b = (np.random.rand(*size).astype("float32") for size in ((M, K), (K, N)))
    arrays = [tessera.nd.array(x) for x in (a, b, np.zeros((M, N), "float32"))]
    for name, make in (("te", te_gemm), ("tir", tir_gemm)):
        module = make(M, N, K)
        module(*arrays)
        np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-4)
        timer = module.time_evaluator(module.entry_name, tessera.cpu(), number=3, repeat=5)
        seconds = min(timer(*arrays).results)
        print(f"{name}: {2 * M * N * K / seconds / 1e9:.1f} GFLOP/s, the same as NumPy's answer")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]])
