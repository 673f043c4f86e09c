"""The old name of `debug_executor`."""

from __future__ import annotations

import warnings
from typing import Any

from . import debug_executor

__all__ = ["create"]


def create(*args: Any, **kwargs: Any) -> Any:
    """`debug_executor.create`."""
    warnings.warn("tvm.contrib.debugger.debug_runtime is now debug_executor", DeprecationWarning, stacklevel=2)
    return debug_executor.create(*args, **kwargs)
