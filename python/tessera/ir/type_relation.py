"""Types applied to types, and relations between types."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .type import Type, TypeConstraint

__all__ = ["TypeCall", "TypeRelation"]


@register_object("TypeCall")
class TypeCall(Type):
    """A data type with its parameters filled in."""

    def __init__(self, func: Type, args: Any):
        self.__init_handle_by_constructor__(_ffi_api.TypeCall, func, args)


@register_object("TypeRelation")
class TypeRelation(TypeConstraint):
    """A function over types that must succeed: the first `num_inputs` of `args` are given, the rest follow from them."""

    def __init__(self, func: Any, args: Any, num_inputs: int, attrs: Any):
        self.__init_handle_by_constructor__(_ffi_api.TypeRelation, func, args, num_inputs, attrs, None)
