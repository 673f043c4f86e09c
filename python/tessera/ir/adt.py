"""Algebraic data types."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .expr import RelayExpr
from .type import GlobalTypeVar, Type

__all__ = ["Constructor", "TypeData"]


@register_object("relay.Constructor")
class Constructor(RelayExpr):
    """One way of making a value of the data type `belong_to`, of values of the types `inputs`."""

    def __init__(self, name_hint: str, inputs: Any, belong_to: GlobalTypeVar):
        self.__init_handle_by_constructor__(_ffi_api.Constructor, name_hint, inputs, belong_to)

    def __call__(self, *args: Any) -> Any:
        """A value made of `args`."""
        from ..relay import Call

        return Call(self, args)


@register_object("relay.TypeData")
class TypeData(Type):
    """The definition of a data type: its name, its parameters and its constructors."""

    def __init__(self, header: GlobalTypeVar, type_vars: Any, constructors: Any):
        self.__init_handle_by_constructor__(_ffi_api.TypeData, header, type_vars, constructors)
