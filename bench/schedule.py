"""How long scheduling takes: a conv2d under about a hundred primitives, applied and lowered.

    python bench/schedule.py [REPEATS]

Prints the best time of applying the primitives and of lowering the result, the time for each primitive while their number
grows and while the program does, and that of lowering each block while the program grows. The first and the last should
stay the same; a primitive may cost a little more in a larger program, less than in proportion to its blocks.
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


def chain_program(blocks):
    """Blocks one after another."""

    def step(tensor, i):
        return te.compute((64, 64), lambda y, x: tensor[y, x] + 1.0, name=f"B{i}")

    data = last = te.placeholder((64, 64), name="A")
    for i in range(blocks):
        last = step(last, i)
    return te.create_prim_func([data, last])


def chain(blocks):
    """The chain with each block tiled and vectorised."""
    sch = tir.Schedule(chain_program(blocks))
    for i in range(blocks):
        y, x = sch.get_loops(f"B{i}")
        sch.split(y, [None, 8])
        sch.vectorize(sch.split(x, [None, 8])[1])
    return sch


PRIMITIVES = {
    "get_block": lambda sch, block, loops: sch.get_block(sch.get(block).name_hint),
    "split": lambda sch, block, loops: sch.split(loops[0], [None, 8]),
    "fuse": lambda sch, block, loops: sch.fuse(*loops),
    "reorder": lambda sch, block, loops: sch.reorder(loops[1], loops[0]),
    "vectorize": lambda sch, block, loops: sch.vectorize(loops[1]),
    "annotate": lambda sch, block, loops: sch.annotate(block, "note", 1),
    "compute_at": lambda sch, block, loops: sch.compute_at(block, sch.get_loops(sch.get_consumers(block)[0])[0]),
    "compute_inline": lambda sch, block, loops: sch.compute_inline(block),
    "cache_read": lambda sch, block, loops: sch.cache_read(block, 0, "local"),
    "cache_write": lambda sch, block, loops: sch.cache_write(block, 0, "local"),
    "set_scope": lambda sch, block, loops: sch.set_scope(block, 0, "local"),
    "transform_layout": lambda sch, block, loops: sch.transform_layout(block, ("write", 0), lambda i, j: (j, i)),
    "blockize": lambda sch, block, loops: sch.blockize(loops[1]),
}


def cost_of(primitive, func, blocks, repeats):
    """The best mean time of the primitive on five blocks of the chain."""
    best = float("inf")
    for _ in range(repeats):
        sch = tir.Schedule(func)
        chosen = [sch.get_block(f"B{i * blocks // 6}") for i in range(1, 6)]
        chosen = [(block, sch.get_loops(block)) for block in chosen]
        start = time.perf_counter()
        for block, loops in chosen:
            primitive(sch, block, loops)
        best = min(best, (time.perf_counter() - start) / len(chosen))
    return best


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
    sizes = {blocks: chain_program(blocks) for blocks in (10, 40, 160, 640)}
    print("us among blocks " + "".join(f"{blocks:8}" for blocks in sizes))
    for name, primitive in PRIMITIVES.items():
        costs = [cost_of(primitive, func, blocks, repeats) for blocks, func in sizes.items()]
        print(f"{name:16}" + "".join(f"{cost * 1e6:8.0f}" for cost in costs))
    for blocks in (20, 80, 320):
        mod = chain(blocks).mod
        start = time.perf_counter()
        tvm.lower(mod)
        print(f"{blocks} blocks: lowered in {(time.perf_counter() - start) / blocks * 1e3:.2f} ms each")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
