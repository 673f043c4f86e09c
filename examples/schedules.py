"""One matmul, five schedules: the formula stays, the speed changes.

Each row compiles the same computation with one more scheduling idea, checks the answer against NumPy and shows how
fast it runs. NumPy and ours are timed in turn, so that a busy machine is busy for both.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable

import numpy as np
import tessera
from tessera import te

SIZE = int(os.environ.get("SIZE", "768"))
BLOCK = 32


def product() -> tuple:
    """C[i, j] = sum over k of A[i, k] * B[k, j]."""
    a = te.placeholder((SIZE, SIZE), name="A")
    b = te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis((0, SIZE), name="k")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return a, b, c


def plain(s: Any, c: Any) -> None:
    """Three loops, as the formula reads."""


def blocked(s: Any, c: Any) -> None:
    """Blocks that stay in the cache."""
    io, jo, ii, ji = s[c].tile(*c.op.axis, BLOCK, BLOCK)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(io, jo, ko, ki, ii, ji)


def vectorized(s: Any, c: Any) -> None:
    """... with the inner loop in vector registers."""
    io, jo, ii, ji = s[c].tile(*c.op.axis, BLOCK, BLOCK)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].vectorize(ji)


def cached(s: Any, c: Any) -> Any:
    """... collecting each block in a buffer of its own, unrolled."""
    cache = s.cache_write(c, "global")
    io, jo, _, _ = s[c].tile(*c.op.axis, BLOCK, BLOCK)
    s[cache].compute_at(s[c], jo)
    i, j = s[cache].op.axis
    ko, ki = s[cache].split(s[cache].op.reduce_axis[0], factor=4)
    s[cache].reorder(ko, i, ki, j)
    s[cache].unroll(ki)
    s[cache].vectorize(j)
    return io


def parallel(s: Any, c: Any) -> None:
    """... on all cores."""
    s[c].parallel(cached(s, c))


def timed(function: Callable, repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random((SIZE, SIZE), dtype="float32") for _ in range(2))
    expected = x @ y
    ta, tb = tessera.nd.array(x), tessera.nd.array(y)
    tc = tessera.nd.array(np.zeros_like(expected))
    work = 2 * SIZE**3 / 1e9
    print(f"Tessera {tessera.__version__}: a {SIZE} x {SIZE} float32 matmul on this CPU\n")

    rows = []
    numpy_best = float("inf")
    for schedule in (plain, blocked, vectorized, cached, parallel):
        a, b, c = product()
        s = te.create_schedule(c.op)
        schedule(s, c)
        start = time.perf_counter()
        function = tessera.build(s, [a, b, c], target="llvm", name="product")
        compile_ms = (time.perf_counter() - start) * 1e3
        function(ta, tb, tc)
        np.testing.assert_allclose(tc.numpy(), expected, rtol=1e-4)
        ours = timed(lambda f=function: f(ta, tb, tc))
        numpy_best = min(numpy_best, timed(lambda: x @ y))
        rows.append((schedule.__doc__, work / ours, compile_ms))
    rows.append(("NumPy, for comparison.", work / numpy_best, 0.0))

    top = max(speed for _, speed, _ in rows)
    for label, speed, compile_ms in rows:
        bar = "█" * max(1, round(32 * speed / top))
        compiled = f"compiled in {compile_ms:4.0f} ms" if compile_ms else ""
        print(f"  {label:<58} {bar:<32} {speed:7.1f} GFLOP/s  {compiled}")
    print("\nEvery answer agrees with NumPy. The schedules are in examples/schedules.py: change one and run it again.")


if __name__ == "__main__":
    main()
