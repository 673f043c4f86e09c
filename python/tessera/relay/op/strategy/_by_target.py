"""Strategies and schedules under the names of kinds of targets: the generic ones, asked with the target they are for."""

from __future__ import annotations

from typing import Any, Callable

from ...._ffi.base import _RUNTIME_ONLY
from . import generic

__all__ = ["install"]


def _generic_name(name: str, suffix: str) -> str:
    """conv2d_strategy_cuda -> conv2d_strategy, schedule_pool_cuda -> schedule_pool, scatter_cuda -> scatter_strategy."""
    plain = name.removesuffix(f"_{suffix}")
    return plain if plain.startswith("schedule_") or plain.endswith("_strategy") else f"{plain}_strategy"


def _strategy(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def function(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        with target:
            return of(attrs, inputs, out_type, target)

    function.__doc__ = f"What {of.__name__} gives for the target."
    function.__name__ = function.__qualname__ = name
    return function


def _schedule(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def function(attrs: Any, outs: Any, target: Any) -> Any:
        with target:
            return of(attrs, outs, target)

    function.__doc__ = f"What {of.__name__} gives for the target."
    function.__name__ = function.__qualname__ = name
    return function


def install(module: dict[str, Any], names: str, suffix: str, aliases: dict[str, str] | None = None) -> list[str]:
    """Puts functions of these names, which end in `_<suffix>`, into a module. Gives the names.

    `aliases` says which generic function a name stands for, where its own words do not.
    """
    if _RUNTIME_ONLY:
        return []
    for name in names.split():
        source = (aliases or {}).get(name) or _generic_name(name, suffix)
        make = _schedule if source.startswith("schedule_") and name not in (aliases or {}) else _strategy
        module[name] = make(name, getattr(generic, source))
        module[name].__module__ = module["__name__"]
    return names.split()
