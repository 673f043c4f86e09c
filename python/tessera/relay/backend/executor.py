"""What runs a compiled model."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import register_object
from ._choice import Choice

__all__ = ["Executor"]


@register_object("Executor")
class Executor(Choice):
    """``Executor("graph", {"link-params": True})``: the kind of executor that `relay.build` compiles for."""

    _what = "Executor"

    @classmethod
    def list_registered_options(cls, executor: Any) -> dict[str, str]:
        """The options of a kind, and the types of their values."""
        return cls._options(executor)
