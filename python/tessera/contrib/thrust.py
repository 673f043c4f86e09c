"""Whether a target may call Thrust."""

from __future__ import annotations

import logging

from ..target import Target
from ._extern import is_registered

__all__ = ["can_use_rocthrust", "can_use_thrust", "maybe_warn"]


def maybe_warn(target: Target, func_name: str) -> None:
    """Says so where a target asks for Thrust and the function is not there."""
    if "thrust" in target.libs and not is_registered(func_name):
        logging.getLogger(__name__).warning("the target names thrust, but %s is not registered", func_name)


def can_use_thrust(target: Target, func_name: str) -> bool:
    """True when the target is CUDA's, names the library ("-libs=thrust"), and the function is there."""
    maybe_warn(target, func_name)
    return target.kind.name in ("cuda", "nvptx") and "thrust" in target.libs and is_registered(func_name)


def can_use_rocthrust(target: Target, func_name: str) -> bool:
    """The same for ROCm."""
    maybe_warn(target, func_name)
    return target.kind.name == "rocm" and "thrust" in target.libs and is_registered(func_name)
