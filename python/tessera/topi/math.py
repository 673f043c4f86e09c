"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from . import _ffi_api


def identity(x: Tensor) -> Tensor:
    """A copy of x."""
    return _ffi_api.identity(x)


def negative(x: Tensor) -> Tensor:
    """-x."""
    return _ffi_api.negative(x)


def exp(x: Tensor) -> Tensor:
    """e to the power of x."""
    return _ffi_api.exp(x)


def erf(x: Tensor) -> Tensor:
    """The error function."""
    return _ffi_api.erf(x)


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return _ffi_api.tanh(x)


def tan(x: Tensor) -> Tensor:
    """Tangent."""
    return _ffi_api.tan(x)


def cos(x: Tensor) -> Tensor:
    """Cosine."""
    return _ffi_api.cos(x)


def cosh(x: Tensor) -> Tensor:
    """Hyperbolic cosine."""
    return _ffi_api.cosh(x)


def sin(x: Tensor) -> Tensor:
    """Sine."""
    return _ffi_api.sin(x)


def sinh(x: Tensor) -> Tensor:
    """Hyperbolic sine."""
    return _ffi_api.sinh(x)


def acos(x: Tensor) -> Tensor:
    """Inverse cosine."""
    return _ffi_api.acos(x)


def acosh(x: Tensor) -> Tensor:
    """Inverse hyperbolic cosine."""
    return _ffi_api.acosh(x)


def asin(x: Tensor) -> Tensor:
    """Inverse sine."""
    return _ffi_api.asin(x)


def asinh(x: Tensor) -> Tensor:
    """Inverse hyperbolic sine."""
    return _ffi_api.asinh(x)


def atan(x: Tensor) -> Tensor:
    """Inverse tangent."""
    return _ffi_api.atan(x)


def atanh(x: Tensor) -> Tensor:
    """Inverse hyperbolic tangent."""
    return _ffi_api.atanh(x)


def floor(x: Tensor) -> Tensor:
    """Rounds down."""
    return _ffi_api.floor(x)


def ceil(x: Tensor) -> Tensor:
    """Rounds up."""
    return _ffi_api.ceil(x)


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""
    return _ffi_api.sign(x)


def trunc(x: Tensor) -> Tensor:
    """Rounds towards zero."""
    return _ffi_api.trunc(x)


def abs(x: Tensor) -> Tensor:
    """Absolute value."""
    return _ffi_api.abs(x)


def isnan(x: Tensor) -> Tensor:
    """Where x is not a number."""
    return _ffi_api.isnan(x)


def isfinite(x: Tensor) -> Tensor:
    """Where x is finite."""
    return _ffi_api.isfinite(x)


def isinf(x: Tensor) -> Tensor:
    """Where x is infinite."""
    return _ffi_api.isinf(x)


def round(x: Tensor) -> Tensor:
    """Rounds to the nearest integer."""
    return _ffi_api.round(x)


def log(x: Tensor) -> Tensor:
    """Natural logarithm."""
    return _ffi_api.log(x)


def log2(x: Tensor) -> Tensor:
    """Logarithm to base 2."""
    return _ffi_api.log2(x)


def log10(x: Tensor) -> Tensor:
    """Logarithm to base 10."""
    return _ffi_api.log10(x)


def sqrt(x: Tensor) -> Tensor:
    """Square root."""
    return _ffi_api.sqrt(x)


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    return _ffi_api.rsqrt(x)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return _ffi_api.sigmoid(x)


def fast_exp(x: Tensor) -> Tensor:
    """A quick approximation of exp."""
    return _ffi_api.fast_exp(x)


def fast_tanh(x: Tensor) -> Tensor:
    """A quick approximation of tanh."""
    return _ffi_api.fast_tanh(x)


def fast_erf(x: Tensor) -> Tensor:
    """A quick approximation of erf."""
    return _ffi_api.fast_erf(x)


def clip(x: Tensor, a_min: Any, a_max: Any) -> Tensor:
    """x limited to [a_min, a_max]."""
    return _ffi_api.clip(x, a_min, a_max)


def cast(x: Any, dtype: str, span: Any = None) -> Any:
    """x in another type; numbers and expressions are cast too."""
    if isinstance(x, Tensor):
        return _ffi_api.cast(x, dtype)
    from tessera import runtime, tir

    if isinstance(x, runtime.ObjectGeneric):  # an element of a tensor
        x = x.asobject()
    return tir.Cast(dtype, x, span) if isinstance(x, tir.PrimExpr) else tir.const(x, dtype)


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """The bits of x read as another type of the same width."""
    return _ffi_api.reinterpret(x, dtype)


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """x * multiplier * 2^(shift - 31), rounded: the product with a fixed-point number."""
    return _ffi_api.fixed_point_multiply(x, multiplier, shift)


def ceil_log2(x: Any) -> Any:
    """The least power of two that reaches x, as its exponent."""
    from tessera import tir

    if not isinstance(x, tir.PrimExpr):
        x = tir.const(x)
    if "float" in x.dtype:
        return tir.ceil(tir.log2(x))
    as_float = tir.Cast("float64", x)
    return tir.Cast(x.dtype, tir.ceil(tir.log2(as_float)))


def left_shift(x: Any, n: int) -> Any:
    """Each element times 2^n."""
    return _ffi_api.left_shift(x, n)


def right_shift(x: Any, n: int) -> Any:
    """Each element over 2^n, rounded down."""
    return _ffi_api.right_shift(x, n)


def erf_legalize(attrs: Any, inputs: Any, types: Any) -> Any:
    """What a target has instead of `erf`: nothing."""
    del attrs, inputs, types
    return None
