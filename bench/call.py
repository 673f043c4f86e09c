#!/usr/bin/env python
"""What crossing the border costs: calls from Python, attributes, import, and parallel regions.

The smallest of 1,000 calls of each kind, taken in turns so that a busy moment of the machine hits all alike. The time
of reading the clock is in every row; the first row shows it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any, Callable

ROUNDS = 1000


def benchmarks() -> dict[str, tuple[Callable[[], Any], str]]:
    """What is measured, by name: a function, and what is wanted of it."""
    import numpy as np
    import tessera
    from tessera import nd, runtime

    nop = tessera.get_global_func("testing.nop")
    echo = tessera.get_global_func("testing.echo")
    regions = tessera.get_global_func("testing.parallel_regions")
    callback = runtime.convert(lambda a, b, c: None)
    a, b, c = (nd.array(np.zeros(16, "float32")) for _ in range(3))
    array = runtime.convert(["x", "y"])
    add = compiled_add(16)
    function = add["add"]
    return {
        "nothing (the clock)": (lambda: None, ""),
        "PackedFunc(a, b, c), three tensors": (lambda: nop(a, b, c), "< 1 us, aim 500 ns"),
        "compiled add of 16 floats, a function": (lambda: function(a, b, c), ""),
        "compiled add of 16 floats, a module": (lambda: add(a, b, c), ""),
        "PackedFunc(1, 2.0, 'text')": (lambda: nop(1, 2.0, "text"), ""),
        "PackedFunc(tensor) -> tensor": (lambda: echo(a), ""),
        "PackedFunc([1, 2, 3])": (lambda: nop([1, 2, 3]), ""),
        "Python callback, three tensors": (lambda: callback(a, b, c), ""),
        "tensor.shape": (lambda: a.shape, ""),
        "array[0]": (lambda: array[0], ""),
        # A barrier inside makes every thread take part. Without it the caller takes over what workers have not begun,
        # which for an empty region is nearly always everything: that row is no measure of a hand-over.
        f"parallel region, {runtime.num_threads()} threads meet": (lambda: regions(1, True), "< 5 us on two threads"),
        "parallel region, taken over by the caller": (lambda: regions(1, False), ""),
    }


def compiled_add(size: int) -> Any:
    """c = a + b as a module."""
    import tessera
    from tessera import te

    a, b = (te.placeholder((size,), name=name) for name in "ab")
    c = te.compute((size,), lambda i: a[i] + b[i], name="c")
    return tessera.build(te.create_schedule(c.op), [a, b, c], "llvm", name="add")


def fastest(functions: list[Callable[[], Any]]) -> list[int]:
    """The smallest time of each in nanoseconds."""
    best = [sys.maxsize] * len(functions)
    clock = time.perf_counter_ns
    for _ in range(ROUNDS):
        for i, function in enumerate(functions):
            start = clock()
            function()
            best[i] = min(best[i], clock() - start)
    return best


def import_times(count: int = 10) -> tuple[float, float]:
    """Milliseconds that `import tessera` takes in a new process, and how many of them are NumPy's."""
    code = (
        "import time; t = time.perf_counter(); import numpy; m = time.perf_counter(); import tessera;"
        "print(time.perf_counter() - t, m - t)"
    )
    runs = [
        tuple(map(float, subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.split()))
        for _ in range(count)
    ]
    whole, numpy = min(runs)
    return whole * 1e3, numpy * 1e3


def main() -> None:
    rows = benchmarks()
    for (name, (_, wanted)), best in zip(rows.items(), fastest([function for function, _ in rows.values()])):
        print(f"{name:44}{best:>9} ns   {wanted}")
    whole, numpy = import_times()
    print(f"{'import tessera':44}{whole:>9.0f} ms   < 200 ms (NumPy takes {numpy:.0f} ms of it)")


if __name__ == "__main__":
    main()
