#!/usr/bin/env python
"""What oneDNN gains or loses against our own kernels, model by model.

    python bench/dnnl.py                                  # resnet50, resnet18, mobilenet and an MLP, one thread and all
    python bench/dnnl.py --only resnet50 --threads 1
    python bench/dnnl.py --clock processor --threads 1    # on a busy machine

Each model is built twice: whole, and with `partition_for_dnnl`, which hands to oneDNN what it takes. For each number of threads one
process holds both; every round runs each of them once, in turns, and the shortest time counts. A ratio is our time over oneDNN's:
above 1 oneDNN is faster. Answers are compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Any, Callable

import numpy as np


def workload(name: str) -> tuple[Any, dict[str, Any], tuple[int, ...]]:
    from tessera.relay import testing

    image = (3, 224, 224)
    if name.startswith("resnet"):
        return *testing.resnet.get_workload(batch_size=1, num_layers=int(name[6:]), image_shape=image), (1, *image)
    if name == "mobilenet":
        return *testing.mobilenet.get_workload(batch_size=1, image_shape=image), (1, *image)
    return *testing.mlp.get_workload(batch_size=64), (64, 1, 28, 28)


MODELS = ("resnet50", "resnet18", "mobilenet", "mlp")


def runner(mod: Any, params: Any, data: np.ndarray) -> Callable[[], Any]:
    import tessera
    from tessera import relay
    from tessera.contrib import graph_executor

    with tessera.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    graph = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    graph.set_input("data", data)

    def run() -> Any:
        graph.run()
        return graph.get_output(0)

    return run


def measure(name: str, clock: Callable[[], float], seconds: float) -> tuple[float, float, float, int]:
    """The shortest times of ours and of oneDNN's, the largest difference, and how many functions oneDNN has."""
    from tessera.relay.op.contrib.dnnl import partition_for_dnnl

    mod, params, shape = workload(name)
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    parts = partition_for_dnnl(mod, params)
    taken = sum("Compiler" in (function.attrs or {}) for function in parts.functions.values())
    runs = [runner(mod, params, data), runner(parts, None, data)]
    answers = [run().numpy() for run in runs]
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-3, atol=1e-5)
    best = [float("inf")] * 2
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < 5:
        for i, run in enumerate(runs):
            start = clock()
            run()
            best[i] = min(best[i], clock() - start)
        rounds += 1
    return best[0], best[1], float(np.abs(answers[1] - answers[0]).max()), taken


def report(models: list[str], threads: int, clock: str, seconds: float) -> None:
    clocks = {"wall": time.perf_counter, "processor": time.process_time}
    print(f"{threads} thread{'s' * (threads > 1)}       ours ms  oneDNN ms   ratio  functions  largest difference")
    for name in models:
        ours, theirs, error, taken = measure(name, clocks[clock], seconds)
        print(
            f"  {name:12} {ours * 1e3:10.2f} {theirs * 1e3:11.2f} {ours / theirs:7.2f} {taken:10} {error:10.1e}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(MODELS), help="names of models, by commas")
    parser.add_argument("--threads", default="", help="numbers of threads, by commas; 1 and all cores unless given")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each model")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        from tessera.relay.op.contrib.dnnl import is_dnnl_available

        if not is_dnnl_available():
            return print("oneDNN is not there: apt install libdnnl-dev, and build again")
        return report(options.only.split(","), options.here, options.clock, options.seconds)
    cores = len(os.sched_getaffinity(0))
    for threads in options.threads.split(",") if options.threads else sorted({"1", str(cores)}):
        environment = {**os.environ, "TVM_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, __file__, "--here", threads, "--only", options.only, "--clock", options.clock]
        code = subprocess.run([*command, "--seconds", str(options.seconds)], env=environment, check=False).returncode
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main()
