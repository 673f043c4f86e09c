"""What the current target says of ARM's CPU."""

from __future__ import annotations

from collections.abc import Iterable

from ...target import Target

__all__ = [
    "get_arch_version",
    "get_tiling_B_interleaved_t",
    "is_aarch64_arm",
    "is_dotprod_available",
    "is_mmla_available",
    "is_neon_available",
]


def _target() -> Target:
    target = Target.current(allow_none=True)
    if target is None:
        raise ValueError("there is no current target; use `with target:`")
    return target


def _mattr() -> list[str]:
    return [str(feature) for feature in _target().attrs.get("mattr", [])]


def get_arch_version(target_mattr: Iterable[str]) -> float:
    """The version of the architecture among features such as "+v8.2a"; 8.0 where none is named."""
    versions = [str(feature)[2:-1] for feature in target_mattr if str(feature).startswith("+v")]
    numbers = [float(version) for version in versions if version.replace(".", "", 1).isdigit()]
    return max(numbers, default=8.0)


def is_aarch64_arm() -> bool:
    """True when the target is a 64-bit ARM."""
    return "aarch64" in str(_target().attrs.get("mtriple", ""))


def is_dotprod_available() -> bool:
    """True when the target has dot products of int8."""
    features = _mattr()
    return get_arch_version(features) >= 8.4 or "+dotprod" in features


def is_mmla_available() -> bool:
    """True when the target has matrix multiplications of int8."""
    features = _mattr()
    return get_arch_version(features) >= 8.6 or "+i8mm" in features


def is_neon_available() -> bool:
    """True when the target has NEON."""
    return is_aarch64_arm() or "+neon" in _mattr()


def get_tiling_B_interleaved_t(interleave_A: bool) -> tuple[int, int]:
    """Rows and columns of the tiles in which a GEMM of int8 has its transposed right operand."""
    if is_mmla_available():
        return 12, 8
    if is_dotprod_available():
        return (12, 4) if interleave_A else (16, 4)
    return 4, 16
