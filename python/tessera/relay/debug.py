"""Stopping inside a running program."""

from __future__ import annotations

import pdb
from typing import Any

from .._ffi.registry import register_func

__all__ = ["_debugger_init"]


@register_func("relay.debug")
def _debugger_init(expr: Any, stack: Any) -> None:
    """Opens pdb; `expr` and `stack` are at hand."""
    pdb.set_trace()
