"""What a compiled model is linked against."""

from __future__ import annotations

from ..._ffi.registry import register_object
from ._choice import Choice

__all__ = ["Runtime"]


@register_object("Runtime")
class Runtime(Choice):
    """``Runtime("cpp")``: the runtime that `relay.build` compiles for."""

    _what = "Runtime"
