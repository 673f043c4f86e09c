"""What a device can do at best, by its target."""

from __future__ import annotations

from typing import Any

from ...target import Target
from . import x86


def estimate_peak_flops(target: Any, dev: Any, remote: Any = None, dtype: str = "float32") -> float:
    """Operations per second that the device can do at best."""
    return x86.estimate_peak_fma_vector_flops(cpu_target(target), dev, remote, dtype)


def estimate_peak_bandwidth(target: Any, dev: Any, remote: Any = None) -> float:
    """Bytes per second that the device can read at best."""
    return x86.estimate_peak_bandwidth_dram(cpu_target(target), dev, remote)


def cpu_target(target: Any) -> Target:
    """The target, which must be a CPU."""
    target = target if isinstance(target, Target) else Target(target)
    if "cpu" not in target.keys:
        raise NotImplementedError(f"what {target.kind.name} can do is not measured yet; CPUs are")
    return target
