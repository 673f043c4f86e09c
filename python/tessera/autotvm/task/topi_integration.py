"""Computes and schedules that are registered apart, for operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...target import Target
from .dispatcher import DispatchContext
from .task import TASK_TABLE, TaskTemplate, args_to_workload

__all__ = ["register_topi_compute", "register_topi_schedule"]


def _config_of(task_name: str, args: Any) -> Any:
    try:
        workload = args_to_workload(args, task_name)
        hash(workload)
    except (RuntimeError, TypeError, ValueError):  # arguments that no record can hold
        workload = None
    target = Target.current()
    return DispatchContext.current.query(target, workload if target is not None else None)


def register_topi_compute(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a compute `f(cfg, ...)`, which callers call without the configuration."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(_config_of(task_name, args), *args, **kwargs)

        TASK_TABLE.setdefault(task_name, TaskTemplate()).fcompute = wrapper
        return wrapper

    return decorate(func) if func is not None else decorate


def register_topi_schedule(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a schedule `f(cfg, outs)`, which callers call without the configuration."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(outs: Any, *args: Any, **kwargs: Any) -> Any:
            return function(_config_of(task_name, ()), outs, *args, **kwargs)

        TASK_TABLE.setdefault(task_name, TaskTemplate()).fschedule = wrapper
        return wrapper

    return decorate(func) if func is not None else decorate
