#!/usr/bin/env python
"""What compiling a model costs: networks of relay.testing from Relay to a loaded module, without the kernel cache, filling
it, and from it; and graphs of growing size, whose time for each node should stay the same.

    python bench/compile.py [MODEL ...]      resnet50 unless given
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Any, Callable

import numpy as np
import tessera as tvm
from tessera import relay
from tessera.relay import testing

MODELS: dict[str, Callable[[], Any]] = {
    "resnet18": lambda: testing.resnet.get_workload(num_layers=18),
    "resnet50": lambda: testing.resnet.get_workload(num_layers=50),
    "mobilenet": lambda: testing.mobilenet.get_workload(),
    "squeezenet": lambda: testing.squeezenet.get_workload(),
    "inception_v3": lambda: testing.inception_v3.get_workload(),
    "densenet": lambda: testing.densenet.get_workload(batch_size=1),
}


def build(mod: tvm.IRModule, params: Any = None, opt_level: int = 3) -> float:
    """Seconds from Relay to a loaded module."""
    start = time.perf_counter()
    with tvm.transform.PassContext(opt_level=opt_level):
        relay.build(mod, "llvm", params=params)["default"](tvm.cpu())
    return time.perf_counter() - start


def models(names: list[str]) -> None:
    """Each model three times."""
    print(f"{'model':<16}{'no cache':>10}{'filling':>10}{'from cache':>12}   s")
    for name in names:
        mod, params = MODELS[name]()
        os.environ["TESSERA_CACHE"] = "0"
        without = build(mod, params)
        del os.environ["TESSERA_CACHE"]
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
            filling = build(mod, params)
            cached = min(build(mod, params) for _ in range(3))
        print(f"{name:<16}{without:>10.2f}{filling:>10.2f}{cached:>12.2f}")


def chain(nodes: int) -> tvm.IRModule:
    """One operator after the other; every second one cannot be fused with the next."""
    x = y = relay.var("x", shape=(4, 4))
    for i in range(nodes):
        y = relay.nn.softmax(y) if i % 2 else relay.exp(y)
    return tvm.IRModule.from_expr(relay.Function([x], y))


def dag(nodes: int) -> tvm.IRModule:
    """Each node takes two of the twenty before it."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(4, 4))
    values = [x]
    for i in range(nodes):
        left, right = (values[-int(back)] for back in rng.integers(1, min(len(values), 20) + 1, 2))
        values.append(relay.nn.dense(left, right) if i % 2 else relay.add(left, right))
    return tvm.IRModule.from_expr(relay.Function([x], values[-1]))


def growth(name: str, make: Callable[[int], tvm.IRModule], sizes: list[int]) -> None:
    """Time for each node as the graph grows; kernels come from the cache the second time."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
        for size in sizes:
            mod = make(size)
            build(mod)
            seconds = build(mod)
            print(f"{name:<8}{size:>8} nodes{seconds:>10.2f} s{1e6 * seconds / size:>10.0f} us a node")


def main() -> None:
    """Everything."""
    models(sys.argv[1:] or ["resnet50"])
    growth("chain", chain, [1250, 2500, 5000, 10000])
    growth("dag", dag, [250, 500, 1000, 2000])


if __name__ == "__main__":
    main()
