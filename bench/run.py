#!/usr/bin/env python
"""What running a model costs beside its kernels: time for each node, threads on one model, memory of plans.

python bench/run.py [MODEL ...]      models of relay.testing for the memory plans; resnet50 unless given
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable

import numpy as np
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay import testing
from tessera.runtime.vm import VirtualMachine
from tessera.testing.graph_memory import graph_memory

NODES = 1000
SIZE = 16

MODELS: dict[str, Callable[[], Any]] = {
    "resnet50": lambda: testing.resnet.get_workload(num_layers=50),
    "mobilenet": lambda: testing.mobilenet.get_workload(),
    "squeezenet": lambda: testing.squeezenet.get_workload(),
    "inception_v3": lambda: testing.inception_v3.get_workload(),
    "densenet": lambda: testing.densenet.get_workload(batch_size=1),
}


def chain(size: Any = SIZE) -> tvm.IRModule:
    """NODES additions of one to floats, which stay apart without fusion."""
    x = y = relay.var("x", shape=(size,), dtype="float32")
    for _ in range(NODES):
        y = relay.add(y, relay.const(1.0))
    return tvm.IRModule.from_expr(relay.Function([x], y))


def fastest(function: Callable[[], Any], rounds: int = 200) -> float:
    """Seconds of the fastest call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def overhead() -> None:
    """Time for each node of a chain of tiny kernels, the kernel included."""
    data = tvm.nd.array(np.zeros(SIZE, "float32"))
    with tvm.transform.PassContext(opt_level=0):
        graph = graph_executor.GraphModule(relay.build(chain(), "llvm")["default"](tvm.cpu()))
        machine = VirtualMachine(relay.vm.compile(chain(), "llvm"), tvm.cpu())
        any_size = VirtualMachine(relay.vm.compile(chain(relay.Any()), "llvm"), tvm.cpu())
    graph.set_input(x=data)
    rows = {
        "graph executor": graph._run,
        "virtual machine": lambda: machine.run(data),
        "virtual machine, any size": lambda: any_size.run(data),
    }
    for name, run in rows.items():
        run()
        print(f"{name + ', a node':44}{fastest(run) / NODES * 1e9:9.0f} ns   < 1000 ns")


def threads_on_one_model(seconds: float = 0.5) -> None:
    """Calls of one Model from more and more threads: none waits for another but for a CPU."""
    with tvm.transform.PassContext(opt_level=0):
        model = tvm.Model(relay.build(chain(), "llvm"))
    data = tvm.nd.array(np.zeros(SIZE, "float32"))
    for count in (1, 2, 4):
        calls = [0] * count
        end = time.perf_counter() + seconds

        def work(i: int, calls: list[int] = calls, end: float = end) -> None:
            while time.perf_counter() < end:
                model.run(data)
                calls[i] += 1

        workers = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print(f"{f'Model.run, {NODES} nodes, {count} threads':44}{sum(calls) / seconds:9.0f} calls a second")


def memory(names: list[str]) -> None:
    """Bytes of memory plans against the tensors that are alive at once."""
    for name in names:
        mod, params = MODELS[name]()
        with tvm.transform.PassContext(opt_level=3):
            planned, live = graph_memory(relay.build(mod, "llvm", params=params).get_graph_json())
        size = f"{planned / 1e6:.2f} MB for {live / 1e6:.2f} MB alive"
        print(f"{'memory plan, ' + name:44}{planned / live:9.3f}      < 1.2 ({size})")


def main(names: list[str]) -> None:
    for name in names:
        if name not in MODELS:
            raise SystemExit(f"no model {name}; there are {', '.join(MODELS)}")
    overhead()
    threads_on_one_model()
    memory(names)


if __name__ == "__main__":
    main(sys.argv[1:] or ["resnet50"])
