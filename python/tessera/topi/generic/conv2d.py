"""Tiles of int8 convolutions; computes and schedules are in `topi.generic`."""

from __future__ import annotations

from typing import Any

from ._tiles import set_channels, set_rectangle, set_row


def _set_channels(cfg: Any, wkl: Any, int32_lanes: int, num_int8_elements: int) -> None:
    if wkl.out_filter % int32_lanes:
        raise ValueError(f"{wkl.out_filter} channels of the result do not fill vectors of {int32_lanes}")
    set_channels(cfg, wkl, max(int32_lanes, num_int8_elements), step=4)


def fallback_schedule_cpu_common_int8(cfg: Any, wkl: Any, int32_lanes: int, num_int8_elements: int) -> None:
    """Tiles of a convolution of 8-bit integers."""
    _set_channels(cfg, wkl, int32_lanes, num_int8_elements)
    set_row(cfg, wkl)


def fallback_schedule_cpu_1x1_int8(cfg: Any, wkl: Any, int32_lanes: int, num_int8_elements: int) -> None:
    """Tiles of one whose kernel is a point."""
    _set_channels(cfg, wkl, int32_lanes, num_int8_elements)
    set_rectangle(cfg, wkl)
