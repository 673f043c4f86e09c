"""What a compiled model is linked against."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import register_object
from ._choice import Choice

__all__ = ["Runtime"]


@register_object("Runtime")
class Runtime(Choice):
    """``Runtime("cpp")``: the runtime that `relay.build` compiles for."""

    _what = "Runtime"

    @classmethod
    def list_registered_options(cls, runtime: Any) -> dict[str, str]:
        """The options of a kind, and the types of their values."""
        return cls._options(runtime)
