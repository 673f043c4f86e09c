"""What runs a compiled model."""

from __future__ import annotations

from ..._ffi.registry import register_object
from ._choice import Choice

__all__ = ["Executor"]


@register_object("Executor")
class Executor(Choice):
    """``Executor("graph", {"link-params": True})``: the kind of executor that `relay.build` compiles for."""

    _what = "Executor"
