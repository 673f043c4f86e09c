"""How long scheduling takes: a conv2d under about a hundred primitives, applied and lowered.

    python bench/schedule.py [REPEATS]

Prints the best time of applying the primitives and of lowering the result, the time for each primitive while their number
grows, and that of lowering each block while the program grows; both should stay the same.
"""

import sys
import time

import tessera as tvm
from tessera import te, tir


def conv2d():
    data, weight = te.placeholder((1, 64, 56, 56), name="D"), te.placeholder((64, 64, 3, 3), name="W")

    def padded(n, c, y, x):
        inside = te.all(y >= 1, y < 57, x >= 1, x < 57)
        return tir.if_then_else(inside, data[n, c, y - 1, x - 1], tir.const(0.0, "float32"))

    pad = te.compute((1, 64, 58, 58), padded, name="pad")
    rc, ry, rx = te.reduce_axis((0, 64), "rc"), te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    conv = te.compute(
        (1, 64, 56, 56),
        lambda n, f, y, x: te.sum(pad[n, rc, y + ry, x + rx] * weight[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    relu = te.compute(conv.shape, lambda *i: tir.Max(conv(*i), tir.const(0.0, "float32")), name="relu")
    return te.create_prim_func([data, weight, relu])


def apply(sch, notes):
    """Tiles, caches, moves and annotates; `notes` more annotations at the end."""
    conv = sch.get_block("conv")
    n, f, y, x, rc, ry, rx = sch.get_loops(conv)
    fo, fm, fi = sch.split(f, [None, 4, 8])
    yo, ym, yi = sch.split(y, [None, 2, 4])
    xo, xm, xi = sch.split(x, [None, 2, 14])
    co, ci = sch.split(rc, [None, 8])
    sch.reorder(n, fo, yo, xo, fm, ym, xm, co, ry, rx, ci, yi, xi, fi)
    outer = sch.fuse(n, fo, yo, xo)
    sch.parallel(outer)
    weight = sch.cache_read(conv, 1, "global")
    sch.compute_at(weight, co)
    sch.compute_at(sch.get_block("pad"), co)
    sch.reverse_compute_at(sch.get_block("relu"), xm)
    sch.decompose_reduction(conv, co)
    sch.vectorize(fi)
    sch.unroll(xi)
    for i in range(notes):
        loop = sch.get_loops(conv)[i % 8]
        sch.annotate(loop, f"note_{i}", i)
    return sch


def chain(blocks):
    """Blocks one after another, each tiled and vectorised."""

    def step(tensor, i):
        return te.compute((64, 64), lambda y, x: tensor[y, x] + 1.0, name=f"B{i}")

    data = last = te.placeholder((64, 64), name="A")
    for i in range(blocks):
        last = step(last, i)
    sch = tir.Schedule(te.create_prim_func([data, last]))
    for i in range(blocks):
        y, x = sch.get_loops(f"B{i}")
        sch.split(y, [None, 8])
        sch.vectorize(sch.split(x, [None, 8])[1])
    return sch


def main(repeats):
    func = conv2d()
    best_apply = best_lower = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        sch = apply(tir.Schedule(func), 42)
        middle = time.perf_counter()
        tvm.lower(sch.mod)
        best_apply = min(best_apply, middle - start)
        best_lower = min(best_lower, time.perf_counter() - middle)
    count = len(sch.trace.insts)
    print(f"{count} instructions: applied in {best_apply * 1e3:.1f} ms, lowered in {best_lower * 1e3:.1f} ms")
    for notes in (100, 400, 1600):
        start = time.perf_counter()
        sch = apply(tir.Schedule(func), notes)
        each = (time.perf_counter() - start) / len(sch.trace.insts)
        print(f"{len(sch.trace.insts)} instructions: {each * 1e6:.0f} us each")
    for blocks in (20, 80, 320):
        mod = chain(blocks).mod
        start = time.perf_counter()
        tvm.lower(mod)
        print(f"{blocks} blocks: lowered in {(time.perf_counter() - start) / blocks * 1e3:.2f} ms each")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
