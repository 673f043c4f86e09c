#!/usr/bin/env python
"""One program for all extents beside the program for the extents at hand, both ours, float32, one thread.

    python bench/dynamic.py                  # all cases
    python bench/dynamic.py Softmax Resize   # those whose name has one of these in it

A case is a model of one operator or a short chain (op_cases/dynamic.py), once with fixed extents, once with dynamic ones.
Both run in turns, and the smallest CPU time counts. A ratio is the time of the fixed form over the dynamic one's: 1 is the
aim. Answers are compared.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np
from common.contenders import Run, difference, geomean, shortest

ROUND_SECONDS = 0.02  # each form runs about this long in a round
FURTHEST = 1e-4  # of one answer from the other, relative to the greatest magnitude


def runner(model: bytes, inputs: dict[str, np.ndarray]) -> Run:
    """The model on the virtual machine, in both forms: what calling costs is the same then."""
    import onnx
    import tessera
    from tessera import relay

    mod, params = relay.frontend.from_onnx(onnx.load_from_string(model))
    with tessera.transform.PassContext(opt_level=3):
        built = relay.vm.compile(mod, "llvm", params=params)
    machine = tessera.runtime.vm.VirtualMachine(built, tessera.cpu())
    machine.set_input("main", **{name: tessera.nd.array(value) for name, value in inputs.items()})

    def run() -> list[np.ndarray]:
        machine.invoke_stateful("main")
        return [np.from_dlpack(out) for out in machine.get_outputs()]

    return run


def measure(case: Any, rounds: int) -> dict[str, float]:
    runs = {"fixed": runner(case.fixed, case.inputs), "dynamic": runner(case.dynamic, case.inputs)}
    apart = difference(runs["dynamic"](), runs["fixed"]())
    if not apart <= FURTHEST:
        raise SystemExit(f"{case.name}: the answers are {apart:.1e} apart")
    return shortest(runs, time.process_time, rounds, ROUND_SECONDS, most=1000)


def main() -> int:
    parser = argparse.ArgumentParser(description="Dynamic extents beside fixed ones.")
    parser.add_argument("only", nargs="*", help="parts of names of cases; all unless given")
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    os.environ.setdefault("TESSERA_NUM_THREADS", "1")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    from op_cases.dynamic import cases

    print(f"{'':52}{'fixed, ms':>11}{'dynamic, ms':>13}{'ratio':>8}")
    ratios = []
    for case in cases():
        if args.only and not any(part in case.name for part in args.only):
            continue
        best = measure(case, args.rounds)
        ratios.append(best["fixed"] / best["dynamic"])
        print(f"{case.name:52}{best['fixed'] * 1e3:>11.4f}{best['dynamic'] * 1e3:>13.4f}{ratios[-1]:>8.2f}", flush=True)
    print(f"{'geomean':76}{geomean(ratios):>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
