"""Schedules that take the target as their first argument."""

from __future__ import annotations

from typing import Any, Callable

from ...target import Target
from ...te import Schedule, Tensor
from .. import _schedules

_KINDS = "dense extern global_pool injective l2_normalize lrn pool reduce region softmax"


def install(module: dict[str, Any]) -> list[str]:
    """Puts `schedule_<kind>(target, outs)` and its like into a module; gives their names."""
    names = []
    for kind in _KINDS.split():
        function = _make(kind)
        function.__module__ = module["__name__"]
        module[function.__name__] = function
        names.append(function.__name__)
    module["schedule_injective_from_existing"] = schedule_injective_from_existing
    return [*names, "schedule_injective_from_existing"]


def _make(kind: str) -> Callable[[Target, Any], Schedule]:
    def function(target: Target, outs: Any) -> Schedule:
        return _schedules.schedule_for(outs, target)

    function.__name__ = function.__qualname__ = f"schedule_{kind}"
    function.__doc__ = f"A schedule for {kind.replace('_', ' ')} and what is fused with it."
    return function


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedules the stage of one element-wise tensor and leaves the others, for the current target or this CPU."""
    return _schedules.from_existing(sch, out, Target.current(allow_none=True) or Target("llvm"))
