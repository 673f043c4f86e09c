"""Schedules for any target, which take the target first."""

from __future__ import annotations

from typing import Any

from ...target import Target
from ...te import Schedule
from .. import generic
from ._by_target import install


def default_schedule(target: Target, outs: Any) -> Schedule:
    """Plain loops."""
    del target
    return generic.default_schedule(outs, False)


def default_schedule_auto_inline(target: Target, outs: Any) -> Schedule:
    """Plain loops, element-wise stages put into their consumers."""
    del target
    return generic.default_schedule(outs, True)


__all__ = ["default_schedule", "default_schedule_auto_inline", *install(globals())]
