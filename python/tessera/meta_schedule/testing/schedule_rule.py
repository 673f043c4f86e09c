"""Default rules by kind."""

from __future__ import annotations

from ...target import Target
from ..default_config import schedule_rules
from ..schedule_rule import ScheduleRule

__all__ = ["get_rules"]

_TARGETS = {"llvm": "llvm -num-cores=1", "cuda": "cuda", "hexagon": "hexagon"}


def get_rules(kind: str, types: type | tuple[type, ...]) -> list[ScheduleRule]:
    """The default rules of a kind of target ("llvm", "cuda", "cuda-tensorcore", "hexagon") that are of these types."""
    if kind == "cuda-tensorcore":
        kind = "cuda"
    if kind not in _TARGETS:
        raise ValueError(f"there are rules for {', '.join(_TARGETS)} and cuda-tensorcore, not for {kind}")
    return [rule for rule in schedule_rules(None, Target(_TARGETS[kind])) if isinstance(rule, types)]
