"""Micro-kernels for CPUs, and the machine by which their sizes are chosen.

    machine = topi.cpu.machine_of("llvm")                           # caches, vector registers, cores
    tiles = topi.cpu.gemm_tiles(machine, 2048, 2048, 2048)          # mr, nr, kc, mc, nc, threads
    kernel = topi.cpu.micro_kernel(machine.isa, "float32", tiles.mr, tiles.nr, tiles.kc)
    stage.tensorize(k, kernel.te_intrin())                          # in a TE schedule
    sch.tensorize(i, kernel.register())                             # in a tir.Schedule

`examples/gemm.py` shows both as whole programs.
"""

from __future__ import annotations

from typing import Any

import tessera._ffi

from ...runtime.object import Object
from ...target import Target
from . import _ffi_api


@tessera._ffi.register_object("topi.cpu.Machine")
class Machine(Object):
    """A CPU as schedules see it.

    isa, arch, cpu, features: names; vector_bytes, vector_registers, cores: numbers; l1_bytes, l2_bytes, l3_bytes: the
    data caches of one core.
    """


@tessera._ffi.register_object("topi.cpu.GemmTiles")
class GemmTiles(Object):
    """How a matmul is tiled: tiles mr x nr, steps kc, blocks mc x nc, parts of threads_m x threads_n threads."""


@tessera._ffi.register_object("topi.cpu.MicroKernel")
class MicroKernel(Object):
    """C[mr, nr] += A[mr, kc] . B[kc, nr] with all sums in registers; see `micro_kernel`."""

    def te_intrin(self) -> Any:
        """The kernel for `Stage.tensorize`, at the loop over k."""
        return _ffi_api.te_intrin(self)

    def tir_intrin(self) -> Any:
        """The kernel as a `tir.TensorIntrin`: loops over i, j and k, and the statement that does them."""
        return _ffi_api.tir_intrin(self)

    def register(self) -> str:
        """Makes the kernel known to `Schedule.tensorize`, and gives the name by which it is."""
        return _ffi_api.register_intrin(self)


def machine_of(target: Any = "llvm") -> Machine:
    """The machine that a CPU target means; "llvm" is this one."""
    return _ffi_api.machine_of(target if isinstance(target, Target) else Target(target))


def micro_kernel(isa: str, dtype: str, mr: int, nr: int, kc: int) -> MicroKernel:
    """The micro-kernel of `isa` ("avx512", "avx2", "sse", "neon", "generic") for elements of `dtype`.

    nr is a multiple of the lanes of a vector, and mr * nr / lanes sums leave a few registers free. Its attribute
    `group` says how many neighbours along k one lane takes: 1, or 4 for 8-bit integers, whose B is [kc / 4, nr, 4].
    """
    return _ffi_api.micro_kernel(isa, dtype, mr, nr, kc)


def gemm_tiles(machine: Machine, m: int, n: int, k: int, dtype: str = "float32", threads: int = 0) -> GemmTiles:
    """The tiling of C[m, n] = A[m, k] . B[k, n] for `threads` threads; 0 means one for each core."""
    return _ffi_api.gemm_tiles(machine, m, n, k, dtype, threads)
