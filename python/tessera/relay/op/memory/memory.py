"""Operators that name memory, and tuples of any depth as flat lists; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ....ir import TensorType, TupleType
from ...expr import Call, Constant, Expr, Tuple, TupleGetItem
from .._make import call_op
from ..annotation.annotation import as_virtual_device

__all__ = ["alloc_storage", "alloc_tensor", "flatten_tuple_type", "from_tuple_type", "to_tuple_type"]


def alloc_tensor(storage: Expr, offset: Expr, shape: Expr, dtype: str = "float32", assert_shape: Any = None) -> Call:
    """A tensor in a piece of memory; a shape that is not constant is what `assert_shape` promises."""
    attrs = {"dtype": dtype, "assert_shape": assert_shape}
    if isinstance(shape, Constant):
        attrs["const_shape"] = shape
    return call_op("memory.alloc_tensor", [storage, offset, shape], attrs)


def alloc_storage(size: Expr, alignment: Expr, device: Any, dtype_hint: str = "float32") -> Call:
    """A piece of memory."""
    attrs = {"dtype": dtype_hint, "virtual_device": as_virtual_device(device)}
    return call_op("memory.alloc_storage", [size, alignment], attrs)


def flatten_tuple_type(ty: Any) -> list[TensorType]:
    """The types of the tensors in a tuple of any depth."""
    if isinstance(ty, TensorType):
        return [ty]
    return [leaf for field in ty.fields for leaf in flatten_tuple_type(field)]


def from_tuple_type(ty: Any, expr: Expr) -> list[Expr]:
    """The tensors in a tuple of any depth."""
    if isinstance(ty, TensorType):
        return [expr]
    parts = [TupleGetItem(expr, i) for i in range(len(ty.fields))]
    return [leaf for field, part in zip(ty.fields, parts) for leaf in from_tuple_type(field, part)]


def to_tuple_type(ty: Any, exprs: list[Expr]) -> Expr:
    """A tuple of type `ty` from the tensors in it."""
    left = list(exprs)

    def build(kind: Any) -> Expr:
        if isinstance(kind, TupleType):
            return Tuple([build(field) for field in kind.fields])
        return left.pop(0)

    return build(ty)
