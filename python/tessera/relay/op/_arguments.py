"""Arguments that may be numbers or tensors: a shape, a count, bounds of a slice."""

from __future__ import annotations

from typing import Any

from ...tir import IntImm, PrimExpr
from ..expr import Constant, Expr, TupleWrapper, const

__all__ = ["as_list", "as_shape", "as_tensor", "is_dynamic", "number_or_tensor"]


def is_dynamic(*values: Any) -> bool:
    """True when one of the values is known only at run time."""
    return any(isinstance(value, Expr) and not isinstance(value, Constant) for value in values)


def as_list(value: Any) -> list[Any]:
    """Numbers (ints, or expressions over shape variables) from one, from a sequence or from a constant tensor."""
    if isinstance(value, Constant):
        return value.data.numpy().reshape(-1).tolist()
    if isinstance(value, (int, PrimExpr)) or not hasattr(value, "__iter__"):
        value = [value]
    return [_number(item) for item in value]


def as_shape(value: Any) -> list[Any]:
    """The same for extents: those of a constant tensor of int64 are of that type."""
    numbers = as_list(value)
    is_wide = isinstance(value, Constant) and value.data.dtype == "int64"
    return [IntImm("int64", number) for number in numbers] if is_wide else numbers


def _number(item: Any) -> Any:
    if isinstance(item, IntImm):
        return item.value
    if isinstance(item, PrimExpr):
        return item
    if isinstance(item, Constant):
        return int(item.data.numpy())
    try:
        return int(item)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"Unrecognized shape type: {error}") from error


def number_or_tensor(value: Any) -> Any:
    """The number of a constant without dimensions; anything else as it is."""
    return value.data.numpy().item() if isinstance(value, Constant) else value


def as_tensor(value: Any, dtype: str = "int64") -> Expr:
    """A tensor of numbers that may already be one."""
    if isinstance(value, TupleWrapper):
        return value.astuple()
    return value if isinstance(value, Expr) else const(as_list(value), dtype)
