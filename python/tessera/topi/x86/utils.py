"""Which vector instructions CPUs of x86 have, by the names that LLVM gives them (`-mcpu`)."""

from __future__ import annotations

from ...target import Target

__all__ = [
    "current_cpu",
    "get_simd_32bit_lanes",
    "target_has_avx",
    "target_has_avx2",
    "target_has_avx512",
    "target_has_sse41",
    "target_has_sse42",
    "target_has_vnni",
]

#: The newest set of instructions of each CPU; each set has those before it.
_SETS = ["sse41", "sse42", "avx", "avx2", "avx512", "vnni"]
_CPUS = {
    "sse41": "penryn btver2",
    "sse42": "silvermont slm goldmont goldmont-plus tremont nehalem corei7 westmere bdver1 bdver2 bdver3 x86-64-v2",
    "avx": "sandybridge corei7-avx ivybridge core-avx-i",
    "avx2": "haswell core-avx2 broadwell skylake bdver4 znver1 znver2 znver3 alderlake x86-64-v3",
    "avx512": "skylake-avx512 skx knl knm cannonlake x86-64-v4",
    "vnni": (
        "cascadelake icelake-client rocketlake icelake icelake-server tigerlake cooperlake sapphirerapids emeraldrapids "
        "graniterapids znver4 znver5"
    ),
}
_LEVEL = {name: _SETS.index(which) for which, names in _CPUS.items() for name in names.split()}


def current_cpu() -> str:
    """The name of the CPU that the current target names."""
    target = Target.current(allow_none=True)
    if target is None:
        raise ValueError("there is no current target; use `with target:`")
    return target.mcpu


def _has(target: str | None, which: str) -> bool:
    return _LEVEL.get(str(target), -1) >= _SETS.index(which)


def target_has_sse41(target: str) -> bool:
    """True when a CPU, by its name, has SSE4.1."""
    return _has(target, "sse41")


def target_has_sse42(target: str) -> bool:
    """True when a CPU has SSE4.2."""
    return _has(target, "sse42")


def target_has_avx(target: str) -> bool:
    """True when a CPU has AVX."""
    return _has(target, "avx")


def target_has_avx2(target: str) -> bool:
    """True when a CPU has AVX2."""
    return _has(target, "avx2")


def target_has_avx512(target: str) -> bool:
    """True when a CPU has AVX-512 BW."""
    return _has(target, "avx512")


def target_has_vnni(target: str) -> bool:
    """True when a CPU has AVX-512 VNNI."""
    return _has(target, "vnni")


def get_simd_32bit_lanes() -> int:
    """How many floats a vector of the current target holds."""
    cpu = current_cpu()
    return 16 if target_has_avx512(cpu) else 8 if target_has_avx2(cpu) else 4
