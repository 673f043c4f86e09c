"""Operators on tensors, element by element; signatures are v0.10's."""

from __future__ import annotations

from typing import Callable

from ..expr import Call, Expr
from ._make import call_op, elementwise_function

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "copy",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "exp",
    "fixed_point_multiply",
    "floor",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "ndarray_size",
    "negative",
    "not_equal",
    "ones_like",
    "power",
    "right_shift",
    "round",
    "rsqrt",
    "shape_of",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "zeros_like",
]


def _unary(name: str) -> Callable[..., Call]:
    return elementwise_function(name, ("data",))


def _binary(name: str) -> Callable[..., Call]:
    return elementwise_function(name, ("lhs", "rhs"))


log = _unary("log")
log2 = _unary("log2")
log10 = _unary("log10")
tan = _unary("tan")
cos = _unary("cos")
cosh = _unary("cosh")
sin = _unary("sin")
sinh = _unary("sinh")
acos = _unary("acos")
acosh = _unary("acosh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
exp = _unary("exp")
erf = _unary("erf")
sqrt = _unary("sqrt")
rsqrt = _unary("rsqrt")
sigmoid = _unary("sigmoid")
floor = _unary("floor")
ceil = _unary("ceil")
trunc = _unary("trunc")
round = _unary("round")
abs = _unary("abs")
sign = _unary("sign")
tanh = _unary("tanh")
negative = _unary("negative")
logical_not = _unary("logical_not")
bitwise_not = _unary("bitwise_not")
zeros_like = _unary("zeros_like")
ones_like = _unary("ones_like")
copy = _unary("copy")
isnan = _unary("isnan")
isfinite = _unary("isfinite")
isinf = _unary("isinf")

add = _binary("add")
subtract = _binary("subtract")
multiply = _binary("multiply")
divide = _binary("divide")
floor_divide = _binary("floor_divide")
trunc_divide = _binary("trunc_divide")
power = _binary("power")
mod = _binary("mod")
floor_mod = _binary("floor_mod")
trunc_mod = _binary("trunc_mod")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
bitwise_and = _binary("bitwise_and")
bitwise_or = _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
equal = _binary("equal")
not_equal = _binary("not_equal")
less = _binary("less")
less_equal = _binary("less_equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
maximum = _binary("maximum")
minimum = _binary("minimum")
right_shift = _binary("right_shift")
left_shift = _binary("left_shift")


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
