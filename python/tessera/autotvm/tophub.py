"""Records of others' tuning, of which none are used."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["context"]


def context(target: Any, extra_files: Any = None) -> Any:
    """A context in which kernels would be scheduled by published records; the built-in rules do it here."""
    del target
    if extra_files:
        raise NotImplementedError("tuning records cannot be used yet; without them the built-in rules choose schedules")
    return contextlib.nullcontext()
