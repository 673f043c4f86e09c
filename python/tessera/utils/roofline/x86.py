"""What a CPU can do at best, measured: multiply-adds of vectors, and bytes read from memory."""

from __future__ import annotations

from typing import Any

from ... import nd, runtime
from ...driver import build
from ...script import tir as T
from ...target import Target

_ROUNDS, _REPEATS = 200_000, 5
_BYTES = 1 << 28  # more than caches hold


def _lanes(target: Target, dtype: str) -> int:
    features = " ".join([str(target), *target.mattr])
    bits = 512 if "avx512" in features or "skylake-avx512" in features else 256
    return max(1, bits // runtime.DataType(dtype).bits)


def _seconds(func: Any, args: list[Any], target: Target, dev: Any) -> float:
    module = build(func, target=target)
    return module.time_evaluator(module.entry_name, dev, number=1, repeat=_REPEATS)(*args).min


def estimate_peak_fma_vector_flops(
    target: Target,
    dev: Any,
    remote: Any = None,
    dtype: str = "float32",
    vec_width: int | None = None,
    num_vector_registers: int | None = None,
) -> float:
    """Operations per second of multiply-adds that stay in registers, on all threads; a multiply-add is two."""
    _here_only(remote)
    lanes, count, threads = vec_width or _lanes(target, dtype), num_vector_registers or 16, runtime.num_threads()

    @T.prim_func
    def fma(A: T.Buffer[(threads, count, lanes), dtype]):
        for t in T.parallel(threads):
            for _ in T.serial(_ROUNDS):
                for r in T.unroll(count):
                    for k in T.vectorized(lanes):
                        A[t, r, k] = A[t, r, k] * A[t, r, k] + A[t, r, k]

    data = nd.empty((threads, count, lanes), dtype, dev)
    return 2.0 * _ROUNDS * count * lanes * threads / _seconds(fma, [data], target, dev)


def estimate_peak_bandwidth_dram(target: Target, dev: Any, remote: Any = None, vec_width: int | None = None) -> float:
    """Bytes per second that all threads read of memory larger than the caches."""
    _here_only(remote)
    dtype, threads = "float32", runtime.num_threads()
    lanes = vec_width or _lanes(target, dtype)
    rows = _BYTES // 4 // threads // lanes

    @T.prim_func
    def read(A: T.Buffer[(threads, rows, lanes), dtype], B: T.Buffer[(threads, lanes), dtype]):
        for t in T.parallel(threads):
            for i in T.serial(rows):
                for k in T.vectorized(lanes):
                    B[t, k] = T.max(B[t, k], A[t, i, k])

    arrays = [nd.empty((threads, rows, lanes), "float32", dev), nd.empty((threads, lanes), "float32", dev)]
    return 4.0 * threads * rows * lanes / _seconds(read, arrays, target, dev)


def _here_only(remote: Any) -> None:
    if remote is not None:
        raise NotImplementedError("programs run on this machine only")
