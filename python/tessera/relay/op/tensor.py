"""Operators on tensors, element by element; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ._make import elementwise_function

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

__all__ = [*_UNARY, *_BINARY]

_functions: dict[str, Any] = {name: elementwise_function(name, ("data",)) for name in _UNARY}
_functions.update((name, elementwise_function(name, ("lhs", "rhs"))) for name in _BINARY)
globals().update(_functions)
