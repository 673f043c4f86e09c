#!/usr/bin/env python
"""Matmuls in float32 against NumPy and, where it is installed, PyTorch; with one thread and with all.

    python bench/gemm.py [--size 2048 | --shape M,N,K ...] [--threads 1,2] [--rounds 10] [--check]

Every round runs each of them once, in turns, so that a busy moment of the machine hits all alike; the smallest time
counts. The peak is measured in the same rounds: multiply-adds on registers, with the same number of threads. The rows:

  seed      the schedule by hand of acceptance program 07: blocks, vectors, packing, a write cache, threads
  te, tir   the micro-kernel schedule of examples/gemm.py, in TE and in tir.Schedule

`--check` ends with status 1 where te or tir are slower than 0.95 of NumPy.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import tessera
from tessera import te, tir, topi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import gemm
from common.contenders import PAUSE
from common.roof import peak_runner

WANTED = 0.95  # of NumPy's speed


# ---- what is measured ------------------------------------------------------------------------------------------------


def seed_schedule(M: int, N: int, K: int, bn: int = 32, kfactor: int = 4) -> tuple[Any, list[Any]]:
    """The schedule of acceptance program 07, for multiples of its blocks."""
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), "k")
    packed = te.compute((N // bn, K, bn), lambda bigN, kk, littleN: B[kk, bigN * bn + littleN], name="packedB")
    C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * packed[n // bn, k, tir.indexmod(n, bn)], axis=k), name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_write(C, "global")
    mo, no, _, _ = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[cache].compute_at(s[C], no)
    mc, nc = s[cache].op.axis
    ko, ki = s[cache].split(s[cache].op.reduce_axis[0], factor=kfactor)
    s[cache].reorder(ko, mc, ki, nc)
    s[cache].vectorize(nc)
    s[cache].unroll(ki)
    s[C].parallel(mo)
    big, _, little = s[packed].op.axis
    s[packed].vectorize(little)
    s[packed].parallel(big)
    return s, [A, B, C]


class Row:
    """One thing to run, the operations that it does, and the shortest time so far."""

    def __init__(self, name: str, run: Callable[[], Any], operations: float, compile_ms: float = 0) -> None:
        self.name, self.run, self.operations, self.compile_ms = name, run, operations, compile_ms
        self.best = float("inf")

    def measure(self) -> None:
        start = time.perf_counter()
        self.run()
        self.best = min(self.best, time.perf_counter() - start)

    @property
    def gflops(self) -> float:
        return self.operations / self.best / 1e9


def make_rows(M: int, N: int, K: int, threads: int) -> list[Row]:
    operations = 2.0 * M * N * K
    rng = np.random.default_rng(0)
    a, b = (rng.random(size, dtype="float32") for size in ((M, K), (K, N)))
    want = a @ b
    arrays = [tessera.nd.array(x) for x in (a, b, np.zeros((M, N), "float32"))]
    out = np.empty_like(want)
    rows = [Row("NumPy", lambda: np.matmul(a, b, out=out), operations)]
    torch = sys.modules.get("torch")
    if torch is not None:
        ta, tb, tc = torch.from_numpy(a), torch.from_numpy(b), torch.empty(M, N)
        rows.append(Row("PyTorch", lambda: torch.matmul(ta, tb, out=tc), operations))

    def seed() -> Any:
        return tessera.build(*seed_schedule(M, N, K), "llvm", name="seed")

    ours: list[tuple[str, Callable[[], Any]]] = [
        ("te", lambda: gemm.te_gemm(M, N, K, "llvm", threads)),
        ("tir", lambda: gemm.tir_gemm(M, N, K, "llvm", threads)),
    ]
    if M % 32 == 0 and N % 32 == 0 and K % 4 == 0:
        ours.insert(0, ("seed", seed))
    for name, build in ours:
        start = time.perf_counter()
        function = (module := build())[module.entry_name]
        compile_ms = (time.perf_counter() - start) * 1e3
        function(*arrays)
        np.testing.assert_allclose(arrays[2].numpy(), want, rtol=1e-4, err_msg=name)
        rows.append(Row(name, lambda function=function: function(*arrays), operations, compile_ms))
    rows.append(Row("peak", *peak_runner()))
    return rows


# ---- one number of threads, in a process of its own -----------------------------------------------------------------


def measure(shape: tuple[int, int, int], threads: int, rounds: int) -> bool:
    """Prints a table; true when the micro-kernel schedules are fast enough."""
    rows = make_rows(*shape, threads)
    for _ in range(rounds):
        for row in rows:
            time.sleep(PAUSE)  # threads of the one before stop waiting for more work
            row.measure()
            row.measure()
    by_name = {row.name: row for row in rows}
    peak = by_name.pop("peak").gflops
    others = [name for name in ("NumPy", "PyTorch") if name in by_name]
    print(f"\n{'x'.join(map(str, shape))} float32, {threads} thread{'s' * (threads > 1)}, peak {peak:.1f} GFLOP/s")
    print(
        f"{'':10}{'ms':>10}{'GFLOP/s':>10}{'of peak':>10}"
        + "".join(f"{'/ ' + name:>11}" for name in others)
        + "   compile"
    )
    for row in by_name.values():
        ratios = "".join(f"{by_name[name].best / row.best:>11.3f}" for name in others)
        compiled = f"{row.compile_ms:>7.0f} ms" if row.compile_ms else ""
        print(f"{row.name:10}{row.best * 1e3:>10.2f}{row.gflops:>10.1f}{row.gflops / peak:>10.1%}{ratios}{compiled}")
    return min(by_name["NumPy"].best / by_name[name].best for name in ("te", "tir")) >= WANTED


# ---- the whole -------------------------------------------------------------------------------------------------------


def run_child(shape: str, threads: int, rounds: int, all_cpus: list[int]) -> bool:
    """Thread pools read their size once, from the environment; one thread is pinned to one core."""
    environment = dict(os.environ)
    for name in ("TVM", "OPENBLAS", "OMP", "MKL"):
        environment[f"{name}_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--child", str(threads), "--shape", shape, "--rounds", str(rounds)]
    cpus = all_cpus if threads > 1 else all_cpus[-1:]
    pin = lambda: os.sched_setaffinity(0, cpus)  # noqa: E731
    return subprocess.run(command, env=environment, preexec_fn=pin, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Matmuls against NumPy and PyTorch.")
    parser.add_argument("--size", type=int, default=2048, help="M = N = K (2048)")
    parser.add_argument("--shape", action="append", help="M,N,K; may be given several times")
    parser.add_argument("--threads", help="such as 1,2; default: one and all")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--check", action="store_true", help=f"fail below {WANTED} of NumPy")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    shapes = args.shape or [",".join([str(args.size)] * 3)]
    if args.child:
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401
        M, N, K = map(int, shapes[0].split(","))
        return 0 if measure((M, N, K), args.child, args.rounds) else 1
    cpus = sorted(os.sched_getaffinity(0))
    machine = topi.cpu.machine_of("llvm")
    caches = ", ".join(f"{size // 1024} kB" for size in (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes))
    print(f"{machine.cpu}, {machine.isa}, caches {caches}, {len(cpus)} CPUs, NumPy {np.__version__}")
    counts = [int(count) for count in args.threads.split(",")] if args.threads else sorted({1, len(cpus)})
    fast = [run_child(shape, count, args.rounds, cpus) for shape in shapes for count in counts]
    return 0 if all(fast) or not args.check else 1


if __name__ == "__main__":
    sys.exit(main())
