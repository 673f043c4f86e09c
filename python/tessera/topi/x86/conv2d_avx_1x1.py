"""Tiles of convolutions whose kernel is a point on CPUs of x86; computes and schedules are in `topi.x86`."""

from __future__ import annotations

from typing import Any

from ..generic._tiles import set_channels_of_vectors, set_rectangle
from .utils import get_simd_32bit_lanes


def _fallback_schedule(cfg: Any, wkl: Any) -> None:
    """The tiles of a workload where no log has any."""
    set_channels_of_vectors(cfg, wkl, get_simd_32bit_lanes())
    set_rectangle(cfg, wkl)
