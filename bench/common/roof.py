"""The roofs of this machine, measured: multiply-adds on registers, nothing else; and a copy."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tessera
from tessera import tir, topi

SUMS = 12  # multiply-adds under way


def peak_module(threads: int, steps: int = 100_000) -> tuple[Any, float]:
    """Multiply-adds of registers only, one task a thread; and how many operations a task is."""
    lanes = topi.cpu.machine_of("llvm").vector_bytes // 4
    dtype = f"float32x{lanes}"
    x = tir.decl_buffer((lanes,), "float32", "x")
    y = tir.decl_buffer((threads * SUMS * lanes,), "float32", "y")
    ib = tir.ir_builder.create()
    with ib.for_range(0, threads, name="task", kind="parallel") as task:
        registers = ib.allocate(dtype, (SUMS,), name="registers", scope="local")
        for i in range(SUMS):
            registers[i] = y.vload([(task * SUMS + i) * lanes], dtype)
        with ib.for_range(0, steps, name="step"):
            for i in range(SUMS):
                registers[i] = registers[i] * x.vload([0], dtype) + x.vload([0], dtype)
        for i in range(SUMS):
            ib.emit(y.vstore([(task * SUMS + i) * lanes], registers[i]))
    return tessera.build(tir.PrimFunc([x, y], ib.get()), target="llvm", name="peak"), 2.0 * lanes * SUMS * steps


def peak_runner(steps: int = 100_000) -> tuple[Callable[[], Any], float]:
    """A call that keeps all threads of the runtime at multiply-adds, and how many operations it does."""
    threads = tessera.runtime.num_threads()
    module, task = peak_module(threads, steps)
    peak, lanes = module[module.entry_name], topi.cpu.machine_of("llvm").vector_bytes // 4
    x, y = (tessera.nd.array(np.full(size, 0.5, "float32")) for size in (lanes, lanes * SUMS * threads))
    return lambda: peak(x, y), task * threads


def copy_runner(traffic: int) -> Callable[[], Any]:
    """A copy by vectors, shared among all threads, that reads and writes `traffic` bytes together."""
    threads, lanes = tessera.runtime.num_threads(), 16
    part = max(1, traffic // 8 // lanes // threads) * lanes
    x, y = (tir.decl_buffer((threads * part,), "float32", name) for name in "xy")
    ib = tir.ir_builder.create()
    with (
        ib.for_range(0, threads, name="task", kind="parallel") as task,
        ib.for_range(0, part // lanes, name="step") as step,
    ):
        at = task * part + step * lanes
        ib.emit(y.vstore([at], x.vload([at], f"float32x{lanes}")))
    module = tessera.build(tir.PrimFunc([x, y], ib.get()), target="llvm", name="copy")
    copy = module[module.entry_name]
    source, target = (tessera.nd.array(np.zeros(threads * part, "float32")) for _ in range(2))
    return lambda: copy(source, target)
