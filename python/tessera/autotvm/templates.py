"""Templates: functions with knobs, which run with the configuration that they have without records."""

from __future__ import annotations

import functools
from typing import Any, Callable

from . import config
from .config import FallbackConfigEntity

__all__ = ["register_topi_compute", "register_topi_schedule", "template"]


def _with_config(function: Callable, takes_config: bool) -> Callable:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before, config._current = config._current, FallbackConfigEntity()
        try:
            return function(config._current, *args, **kwargs) if takes_config else function(*args, **kwargs)
        finally:
            config._current = before

    return wrapper


def template(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a template, which gives a schedule and its arguments; `get_config()` has its knobs."""
    del task_name
    return _with_config(func, False) if func is not None else lambda f: _with_config(f, False)


def register_topi_compute(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a compute `f(cfg, ...)`, which callers call without the configuration."""
    del task_name
    return _with_config(func, True) if func is not None else lambda f: _with_config(f, True)


def register_topi_schedule(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a schedule `f(cfg, outs)`, which callers call without the configuration."""
    return register_topi_compute(task_name, func)
