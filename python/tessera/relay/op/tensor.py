"""Operators on tensors, element by element; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Expr
from ._make import call_op, elementwise_function

_UNARY = [
    "log",
    "log2",
    "log10",
    "tan",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "exp",
    "erf",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "floor",
    "ceil",
    "trunc",
    "round",
    "abs",
    "sign",
    "tanh",
    "negative",
    "logical_not",
    "bitwise_not",
    "zeros_like",
    "ones_like",
    "copy",
    "isnan",
    "isfinite",
    "isinf",
]
_BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "trunc_divide",
    "power",
    "mod",
    "floor_mod",
    "trunc_mod",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "maximum",
    "minimum",
    "right_shift",
    "left_shift",
]

__all__ = [*_UNARY, *_BINARY, "clip", "fixed_point_multiply", "ndarray_size", "shape_of"]

_functions: dict[str, Any] = {name: elementwise_function(name, ("data",)) for name in _UNARY}
_functions.update((name, elementwise_function(name, ("lhs", "rhs"))) for name in _BINARY)
globals().update(_functions)


def clip(a: Expr, a_min: float, a_max: float) -> Call:
    """Each element brought into [a_min, a_max]."""
    return call_op("clip", [a], {"a_min": float(a_min), "a_max": float(a_max)})


def fixed_point_multiply(data: Expr, multiplier: int, shift: int) -> Call:
    """data * multiplier * 2^(shift - 31), rounded, in 32-bit integers."""
    return call_op("fixed_point_multiply", [data], {"multiplier": multiplier, "shift": shift})


def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """The extents as a vector."""
    return call_op("shape_of", [data], {"dtype": dtype})


def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """The number of elements."""
    return call_op("ndarray_size", [data], {"dtype": dtype})
