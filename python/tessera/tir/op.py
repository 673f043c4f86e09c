"""Functions that make expressions: arithmetic with a name and real functions.

Calls into libraries and hardware (tir.op_calls, tir.op_matrix) and reductions (tir.reducers) are names of this module
too.
"""

from __future__ import annotations

from typing import Any, Callable

from ..ir import Op as Op
from ..ir import PrimExpr, Span
from ..runtime.object_generic import convert
from . import _ffi_api, op_calls, op_matrix
from .op_calls import *  # noqa: F403
from .op_calls import call_intrin
from .op_matrix import *  # noqa: F403

__all__ = [
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceildiv",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "isnullptr",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max_value",
    "min_value",
    "nearbyint",
    "nextafter",
    "popcount",
    "power",
    "q_multiply_shift",
    "reinterpret",
    "ret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]

__all__ += op_calls.__all__
__all__ += op_matrix.__all__


def _unary(name: str, meaning: str) -> Callable[[Any], PrimExpr]:
    """A function of one number whose result has the number's type."""

    def call(x: Any) -> PrimExpr:
        x = convert(x)
        return call_intrin(x.dtype, f"tir.{name}", x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{meaning}, as a value of the type of `x`."
    return call


def _binary(name: str, meaning: str) -> Callable[[Any, Any], PrimExpr]:
    """A function of two numbers whose result has the type of the first."""

    def call(x1: Any, x2: Any) -> PrimExpr:
        x1, x2 = convert(x1), convert(x2)
        return call_intrin(x1.dtype, f"tir.{name}", x1, x2)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{meaning}, as a value of the type of `x1`."
    return call


exp = _unary("exp", "e to the power x")
exp2 = _unary("exp2", "2 to the power x")
exp10 = _unary("exp10", "10 to the power x")
erf = _unary("erf", "The error function")
tanh = _unary("tanh", "Hyperbolic tangent")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x))")
log = _unary("log", "Natural logarithm")
log2 = _unary("log2", "Logarithm to base 2")
log10 = _unary("log10", "Logarithm to base 10")
log1p = _unary("log1p", "log(1 + x), exact near 0")
tan = _unary("tan", "Tangent")
cos = _unary("cos", "Cosine")
cosh = _unary("cosh", "Hyperbolic cosine")
acos = _unary("acos", "Inverse cosine")
acosh = _unary("acosh", "Inverse hyperbolic cosine")
sin = _unary("sin", "Sine")
sinh = _unary("sinh", "Hyperbolic sine")
asin = _unary("asin", "Inverse sine")
asinh = _unary("asinh", "Inverse hyperbolic sine")
atan = _unary("atan", "Inverse tangent")
atanh = _unary("atanh", "Inverse hyperbolic tangent")
sqrt = _unary("sqrt", "Square root")
rsqrt = _unary("rsqrt", "1 / sqrt(x)")
popcount = _unary("popcount", "Number of bits that are set")
atan2 = _binary("atan2", "The angle of the point (x2, x1)")
nextafter = _binary("nextafter", "The next number after x1 towards x2")
hypot = _binary("hypot", "sqrt(x1**2 + x2**2)")
copysign = _binary("copysign", "x1 with the sign of x2")
ldexp = _binary("ldexp", "x1 * 2**x2")


def clz(x: Any) -> PrimExpr:
    """Number of leading zero bits, an int32."""
    return call_intrin("int32", "tir.clz", x)


def fmod(x: Any, y: Any) -> PrimExpr:
    """The remainder of x / y, with the sign of x."""
    x = convert(x)
    return call_intrin(x.dtype, "tir.fmod", x, y)


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """round(x * y * 2**-s) of fixed-point numbers with `q` fractional bits, without losing bits on the way."""
    return call_intrin("int32", "tir.q_multiply_shift", x, y, q, s)


def shift_left(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """x << y"""
    return _ffi_api.left_shift(x, y, span)


def shift_right(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """x >> y"""
    return _ffi_api.right_shift(x, y, span)


def ret(val: Any) -> PrimExpr:
    """Leaves the function with a value."""
    return call_intrin(val.dtype, "tir.ret", val)


def any(*args: Any, span: Span | None = None) -> PrimExpr:
    """True when at least one of the conditions holds."""
    return _folded(args, _ffi_api._OpOr, span)


def all(*args: Any, span: Span | None = None) -> PrimExpr:
    """True when all conditions hold."""
    return _folded(args, _ffi_api._OpAnd, span)


def _folded(args: tuple[Any, ...], combine: Any, span: Span | None) -> Any:
    if not args:
        raise ValueError("at least one condition is needed")
    out = args[0]
    for arg in args[1:]:
        out = combine(out, arg, span)
    return out


def min_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """The smallest value of a type."""
    return _ffi_api.min_value(dtype, span)


def max_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """The largest value of a type."""
    return _ffi_api.max_value(dtype, span)


def infinity(dtype: str, span: Span | None = None) -> PrimExpr:
    """Infinity of a floating type."""
    return _ffi_api.infinity(dtype, span)


def reinterpret(dtype: str, value: Any, span: Span | None = None) -> PrimExpr:
    """The bits of `value` read as another type."""
    return _ffi_api.reinterpret(dtype, value, span)


def floor(x: Any, span: Span | None = None) -> PrimExpr:
    """The largest whole number not above x."""
    return _ffi_api.floor(x, span)


def ceil(x: Any, span: Span | None = None) -> PrimExpr:
    """The smallest whole number not below x."""
    return _ffi_api.ceil(x, span)


def trunc(x: Any, span: Span | None = None) -> PrimExpr:
    """x without its fraction."""
    return _ffi_api.trunc(x, span)


def abs(x: Any, span: Span | None = None) -> PrimExpr:
    """x without its sign."""
    return _ffi_api.abs(x, span)


def round(x: Any, span: Span | None = None) -> PrimExpr:
    """x rounded to the nearest whole number."""
    return _ffi_api.round(x, span)


def nearbyint(x: Any, span: Span | None = None) -> PrimExpr:
    """x rounded to the nearest whole number in the current rounding mode."""
    return _ffi_api.nearbyint(x, span)


def likely(cond: Any, span: Span | None = None) -> PrimExpr:
    """Marks a condition as one that nearly always holds."""
    return _ffi_api.likely(cond, span)


def isnan(x: Any, span: Span | None = None) -> PrimExpr:
    """True when x is not a number."""
    return _ffi_api.isnan(x, span)


def isnullptr(x: Any, span: Span | None = None) -> PrimExpr:
    """True when the handle points nowhere."""
    return call_intrin("bool", "tir.isnullptr", x, span=span)


def isfinite(x: Any, span: Span | None = None) -> PrimExpr:
    """True when x is neither infinite nor not a number."""
    return _ffi_api.isfinite(x, span)


def isinf(x: Any, span: Span | None = None) -> PrimExpr:
    """True when x is infinite."""
    return _ffi_api.isinf(x, span)


def power(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """x to the power y."""
    return _ffi_api._OpPow(convert(x), convert(y), span)


def if_then_else(cond: Any, t: Any, f: Any, span: Span | None = None) -> PrimExpr:
    """`t` where `cond` holds, else `f`; only that one is evaluated. Not vectorized: see Select."""
    return _ffi_api._OpIfThenElse(convert(cond), convert(t), convert(f), span)


def div(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """a / b as C has it: rounded towards zero on integers."""
    return _ffi_api._OpDiv(a, b, span)


def indexdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """floor(a / b) where both are known not to be negative."""
    return _ffi_api._OpIndexDiv(a, b, span)


def indexmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """The remainder of indexdiv."""
    return _ffi_api._OpIndexMod(a, b, span)


def truncdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """a / b of integers, rounded towards zero."""
    return _ffi_api._OpTruncDiv(a, b, span)


def truncmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """The remainder of truncdiv; it has the sign of a."""
    return _ffi_api._OpTruncMod(a, b, span)


def floordiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """a / b of integers, rounded down."""
    return _ffi_api._OpFloorDiv(a, b, span)


def floormod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """The remainder of floordiv; it has the sign of b."""
    return _ffi_api._OpFloorMod(a, b, span)


def ceildiv(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """lhs / rhs of integers, rounded up."""
    return _ffi_api._OpCeilDiv(lhs, rhs, span)


from .reducers import comm_reducer, max, min, sum  # noqa: E402  (they are made with the functions above)

__all__ += ["comm_reducer", "max", "min", "sum"]
