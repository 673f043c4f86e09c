"""Types of variables and functions."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .base import Node

__all__ = [
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "PointerType",
    "PrimType",
    "RelayRefType",
    "TupleType",
    "Type",
    "TypeConstraint",
    "TypeKind",
    "TypeVar",
]


@register_object("Type")
class Type(Node):
    """The base of all types. Equal when equal in structure."""

    def __eq__(self, other: object) -> bool:
        from .base import structural_equal

        return isinstance(other, Type) and structural_equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        from .base import structural_hash

        return structural_hash(self)


class TypeKind(IntEnum):
    """What a type variable stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


@register_object("PrimType")
class PrimType(Type):
    """A scalar or vector of machine type `dtype`."""

    def __init__(self, dtype: str):
        self.__init_handle_by_constructor__(_ffi_api.PrimType, dtype)


@register_object("PointerType")
class PointerType(Type):
    """The address of elements of `element_type` in memory of `storage_scope` ("" is main memory)."""

    def __init__(self, element_type: Type, storage_scope: str = ""):
        self.__init_handle_by_constructor__(_ffi_api.PointerType, element_type, storage_scope)


@register_object("TupleType")
class TupleType(Type):
    """A tuple; the empty one is the type of functions that return nothing."""

    def __init__(self, fields: Any):
        self.__init_handle_by_constructor__(_ffi_api.TupleType, fields)


@register_object("TypeVar")
class TypeVar(Type):
    """A type parameter of a function or a data type. Calling it applies it to arguments."""

    def __init__(self, name: str, kind: TypeKind = TypeKind.Type):
        self.__init_handle_by_constructor__(_ffi_api.TypeVar, name, kind)

    def __call__(self, *args: Type) -> Type:
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("GlobalTypeVar")
class GlobalTypeVar(Type):
    """The name of a data type of a module. Calling it fills in the parameters of the type."""

    def __init__(self, name: str, kind: TypeKind = TypeKind.AdtHandle):
        self.__init_handle_by_constructor__(_ffi_api.GlobalTypeVar, name, kind)

    def __call__(self, *args: Type) -> Type:
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("IncompleteType")
class IncompleteType(Type):
    """A hole that type inference fills."""

    def __init__(self, kind: TypeKind = TypeKind.Type):
        self.__init_handle_by_constructor__(_ffi_api.IncompleteType, kind)


@register_object("relay.RefType")
class RelayRefType(Type):
    """A reference to a value of type `value`."""

    def __init__(self, value: Type):
        self.__init_handle_by_constructor__(_ffi_api.RelayRefType, value)


@register_object("TypeConstraint")
class TypeConstraint(Type):
    """What must hold between types besides a signature."""


@register_object("FuncType")
class FuncType(Type):
    """A function from `arg_types` to `ret_type`."""

    def __init__(self, arg_types: Any, ret_type: Type, type_params: Any = None, type_constraints: Any = None):
        self.__init_handle_by_constructor__(
            _ffi_api.FuncType, arg_types, ret_type, type_params or [], type_constraints or [], None
        )
