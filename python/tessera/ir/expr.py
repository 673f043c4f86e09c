"""The roots of all expressions, and ranges."""

from __future__ import annotations

import importlib
from numbers import Number
from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .base import Node, Span
from .type import Type

__all__ = ["BaseExpr", "GlobalVar", "PrimExpr", "Range", "RelayExpr"]


@register_object("BaseExpr")
class BaseExpr(Node):
    """The base of all expressions."""


@register_object("PrimExpr")
class PrimExpr(BaseExpr):
    """A value of a machine type: what loops compute with. Its `dtype` says which."""


@register_object("RelayExpr")
class RelayExpr(BaseExpr):
    """A value of Relay, or a function."""

    @property
    def checked_type(self) -> Type:
        """The type found by type inference."""
        found = self._checked_type_
        if found is None:
            raise ValueError("The type checker has not populated the checked_type for this node")
        return found


@register_object("GlobalVar")
class GlobalVar(RelayExpr):
    """The name of a function of an IRModule; two are the same only by identity."""

    def __init__(self, name_hint: str):
        self.__init_handle_by_constructor__(_ffi_api.GlobalVar, name_hint)

    def __call__(self, *args: Any) -> Any:
        """A call of the function: in loop programs where the arguments are machine values, else in Relay."""
        if all(isinstance(arg, (Number, PrimExpr)) for arg in args):
            from ..tir.op_calls import call_tir

            return call_tir(self, *args)
        return importlib.import_module("tessera.relay").Call(self, args)


@register_object("Range")
class Range(Node):
    """The integers from `begin` up to, not including, `end`; Range(n) begins at 0. Fields: `min` and `extent`."""

    def __init__(self, begin: Any, end: Any = None, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Range, begin, end, span)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Span | None = None) -> Range:
        """The range of `extent` integers that begins at `min_value`."""
        return _ffi_api.range_by_min_extent(min_value, extent, span)

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Node.__hash__
