"""Arm's Ethos-N: whether it is there."""

from __future__ import annotations

from enum import Enum

from ...._ffi.registry import get_global_func

__all__ = ["Available", "ethosn_available"]


class Available(Enum):
    """What of it is there."""

    UNAVAILABLE = 0
    SW_ONLY = 1
    SW_AND_HW = 2

    def __bool__(self) -> bool:
        return self != Available.UNAVAILABLE


def ethosn_available() -> Available:
    """Whether a code generator for Ethos-N is registered, and whether its hardware can be called."""
    if get_global_func("relay.ethos-n.query", allow_missing=True) is None:
        return Available.UNAVAILABLE
    has_hardware = get_global_func("relay.ethos-n.test.infra.inference_result", allow_missing=True) is not None
    return Available.SW_AND_HW if has_hardware else Available.SW_ONLY
