"""Schedule functions by name: what scripts call, over the TE schedules that fit any program of tensors.

Models are compiled by the core's rules of blocks, which see the whole fused function; these serve programs that ask for
a `te.Schedule`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from .._ffi.registry import get_global_func
from ..ir import Array
from ..target import Target
from ..te import Schedule, Tensor
from . import nn

__all__ = ["ScheduleFunction", "as_list", "computes", "from_existing", "install", "schedule_for"]

ScheduleFunction = Callable[..., Schedule]


def as_list(outs: Any) -> list[Tensor]:
    """The outputs of a program, given as one tensor or several."""
    return list(outs) if isinstance(outs, (list, tuple, Array)) else [outs]


def schedule_for(outs: Any, target: Target) -> Schedule:
    """Element-wise stages put into their readers; the loops of the rest run by the target's threads."""
    return get_global_func("topi.schedule_for")(as_list(outs), target)


def from_existing(sch: Schedule, out: Tensor, target: Target) -> Schedule:
    """Schedules the stage of one tensor and leaves the others."""
    get_global_func("topi.schedule_stage")(sch[out], target)
    return sch


def install(module: dict[str, Any], names: Sequence[str], target: Callable[[], Target]) -> list[str]:
    """Puts functions `schedule_<name>` into a module; gives their names."""
    for name in names:
        function = _make(f"schedule_{name}", target, takes_layout="pool" in name)
        function.__module__ = module["__name__"]
        module[function.__name__] = function
    return [f"schedule_{name}" for name in names]


def computes(module: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Puts the functions of `topi.nn` that a module has schedules for beside those; gives their names.

    v0.10 has computes of its own for each kind of device. Here a compute is the same everywhere.
    """
    found = [name for name in names if callable(getattr(nn, name, None))]
    module.update((name, getattr(nn, name)) for name in found)
    return found


def _make(name: str, target: Callable[[], Target], takes_layout: bool) -> Callable:
    what = name[len("schedule_") :].replace("_", " ")
    if takes_layout:

        def function(outs: Any, layout: str = "NCHW") -> Schedule:
            del layout  # loops are run in the order of memory, whatever they mean
            return schedule_for(outs, target())
    else:

        def function(outs: Any) -> Schedule:  # type: ignore[misc]
            return schedule_for(outs, target())

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A schedule for {what} and what is fused with it."
    return function
