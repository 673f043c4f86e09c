"""Types of Relay."""

from __future__ import annotations

from ..ir import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from ..ir import RelayRefType as RefType
from ..tir.expr import Any
from . import _ffi_api
from .base import RelayNode

__all__ = [
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "RefType",
    "RelayNode",
    "ShapeVar",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "is_dynamic",
    "scalar_type",
    "type_has_any",
]


def type_has_any(tensor_type: Type) -> bool:
    """True when an extent somewhere in the type is known only at run time."""
    return bool(_ffi_api.IsDynamic(tensor_type))


is_dynamic = type_has_any


def ShapeVar(name: str) -> TypeVar:
    """A type variable that stands for a shape."""
    return TypeVar(name, kind=TypeKind.ShapeVar)


def scalar_type(dtype: str) -> TensorType:
    """The type of tensors without dimensions."""
    return TensorType((), dtype)
