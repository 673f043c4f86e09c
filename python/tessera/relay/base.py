"""What all parts of Relay share."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..ir import Node as RelayNode
from ..ir import SourceName, Span
from ..ir import _ffi_api as _ir_api
from ..runtime.object import Object

__all__ = ["Id", "RelayNode", "SourceName", "Span", "astext", "pretty_print"]


@register_object("relay.Id")
class Id(Object):
    """The name of a variable, shared by its copies with other annotations."""

    def __init__(self) -> None:
        raise RuntimeError("Cannot directly construct Id")


def pretty_print(obj: Any) -> str:
    """The text of an expression or module, without header and metadata."""
    return _ir_api.PrettyPrint(obj)


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """The text of an expression or module, with header and metadata."""
    return _ir_api.AsText(obj, show_meta_data, annotate)
