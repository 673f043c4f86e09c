"""What a call costs: the least of 1,000 interleaved rounds, so that a busy machine tells little less than a quiet one.

python bench/bench_call.py          prints a table; exits with 1 when a limit is passed
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import tessera

ROUNDS = 1000
REGIONS = 20  # parallel regions in one round
LIMITS = {"call with three tensors": 1e-6, "parallel region, all meet": 5e-6, "import tessera": 0.2}


def least(functions: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The least answer of each function, called in turn."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            best[name] = min(best[name], function())
    return best


def seconds(function: Callable, *args: object) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def import_seconds() -> float:
    """The import alone, in a fresh process that has numpy already."""
    code = "import time, numpy; t = time.perf_counter(); import tessera; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def main() -> int:
    nop = tessera.get_global_func("testing.nop")
    regions = tessera.get_global_func("testing.parallel_regions")
    a, b, c = (tessera.nd.array(np.zeros(16, "float32")) for _ in range(3))
    results = least(
        {
            "nothing": lambda: seconds(lambda x, y, z: None, a, b, c),
            "call with three tensors": lambda: seconds(nop, a, b, c),
            # A barrier inside makes every thread take part. Without it the caller takes over what workers have not
            # begun, which for an empty region is nearly always everything: that row is no measure of a hand-over.
            "parallel region, all meet": lambda: seconds(regions, REGIONS, True) / REGIONS,
            "parallel region, taken over": lambda: seconds(regions, REGIONS, False) / REGIONS,
        }
    )
    results["import tessera"] = import_seconds()
    print(f"{tessera.runtime.num_threads()} threads")
    for name, value in results.items():
        limit = f"limit {LIMITS[name] * 1e6:.0f} us" if name in LIMITS else ""
        print(f"{name:28} {value * 1e6:12.3f} us   {limit}")
    return int(any(results[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
