"""Python's operators on expressions, and the lazy `==` and `!=`."""

from __future__ import annotations

from typing import Any

from .._ffi.runtime_ctypes import DataType, DataTypeCode
from ..ir import Span
from ..runtime.object_generic import ObjectGeneric, const
from . import _ffi_api
from . import generic as _generic


def div_ambiguity_error() -> RuntimeError:
    """What is raised for `/` on integers."""
    return RuntimeError(
        "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, floordiv/floormod "
        " or truncdiv/truncmod directly to avoid ambiguity in the code."
    )


def _has_code(value: Any, code: int) -> bool:
    return isinstance(value, ExprOp) and DataType(value.dtype).type_code == code


def _dtype_is_int(value: Any) -> bool:
    return isinstance(value, int) or _has_code(value, DataTypeCode.INT)


def _dtype_is_float(value: Any) -> bool:
    return isinstance(value, float) or _has_code(value, DataTypeCode.FLOAT)


class ExprOp:
    """Python's operators on expressions."""

    dtype: str

    def __add__(self, other: Any) -> Any:
        return _generic.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _generic.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return _generic.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _generic.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return _generic.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _generic.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        if _dtype_is_int(self) and _dtype_is_int(other):
            raise div_ambiguity_error()
        return _generic.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if _dtype_is_int(self) and _dtype_is_int(other):
            raise div_ambiguity_error()
        return _generic.divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _generic.floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _generic.floordiv(other, self)

    def __mod__(self, other: Any) -> Any:
        return _ffi_api._OpFloorMod(self, other, None)

    def __rmod__(self, other: Any) -> Any:
        return _ffi_api._OpFloorMod(other, self, None)

    def __neg__(self) -> Any:
        return self.__mul__(const(-1, self.dtype))

    def __lshift__(self, other: Any) -> Any:
        return _ffi_api.left_shift(self, other, None)

    def __rlshift__(self, other: Any) -> Any:
        return _ffi_api.left_shift(other, self, None)

    def __rshift__(self, other: Any) -> Any:
        return _ffi_api.right_shift(self, other, None)

    def __rrshift__(self, other: Any) -> Any:
        return _ffi_api.right_shift(other, self, None)

    def __and__(self, other: Any) -> Any:
        return _ffi_api.bitwise_and(self, other, None)

    def __rand__(self, other: Any) -> Any:
        return _ffi_api.bitwise_and(other, self, None)

    def __or__(self, other: Any) -> Any:
        return _ffi_api.bitwise_or(self, other, None)

    def __ror__(self, other: Any) -> Any:
        return _ffi_api.bitwise_or(other, self, None)

    def __xor__(self, other: Any) -> Any:
        return _ffi_api.bitwise_xor(self, other, None)

    def __rxor__(self, other: Any) -> Any:
        return _ffi_api.bitwise_xor(other, self, None)

    def __invert__(self) -> Any:
        if _dtype_is_float(self):
            raise RuntimeError("~ is for integers and booleans, not for floats")
        return _ffi_api.bitwise_not(self, None)

    def __lt__(self, other: Any) -> Any:
        return _ffi_api._OpLT(self, other, None)

    def __le__(self, other: Any) -> Any:
        return _ffi_api._OpLE(self, other, None)

    def __eq__(self, other: Any) -> Any:
        return EqualOp(self, other)

    def __ne__(self, other: Any) -> Any:
        return NotEqualOp(self, other)

    def __gt__(self, other: Any) -> Any:
        return _ffi_api._OpGT(self, other, None)

    def __ge__(self, other: Any) -> Any:
        return _ffi_api._OpGE(self, other, None)

    def __nonzero__(self) -> bool:
        raise ValueError("Cannot use and / or / not operator to Expr, hint: use tvm.tir.all / tvm.tir.any instead")

    def __bool__(self) -> bool:
        return self.__nonzero__()

    def equal(self, other: Any, span: Span | None = None) -> Any:
        """The comparison as an expression; `==` decides only later what it means."""
        return _ffi_api._OpEQ(self, other, span)

    def astype(self, dtype: str, span: Span | None = None) -> Any:
        """The value cast to `dtype`."""
        return _generic.cast(self, dtype, span)


class EqualOp(ObjectGeneric, ExprOp):
    """``a == b``, not yet decided: as a truth value it asks for identity, as an expression it compares."""

    def __init__(self, a: Any, b: Any, span: Span | None = None):
        self.a = a
        self.b = b
        self.span = span

    def same_as(self, other: object) -> bool:
        """True when both are this very comparison."""
        return self is other

    def __nonzero__(self) -> bool:
        return self.a.same_as(self.b)

    def __bool__(self) -> bool:
        return self.__nonzero__()

    def asobject(self) -> Any:
        return _ffi_api._OpEQ(self.a, self.b, self.span)

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.asobject().dtype


class NotEqualOp(ObjectGeneric, ExprOp):
    """``a != b``, not yet decided; see EqualOp."""

    def __init__(self, a: Any, b: Any, span: Span | None = None):
        self.a = a
        self.b = b
        self.span = span

    def same_as(self, other: object) -> bool:
        """True when both are this very comparison."""
        return self is other

    def __nonzero__(self) -> bool:
        return not self.a.same_as(self.b)

    def __bool__(self) -> bool:
        return self.__nonzero__()

    def asobject(self) -> Any:
        return _ffi_api._OpNE(self.a, self.b, self.span)

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.asobject().dtype


class IntImmEnum(ObjectGeneric):
    """A Python int that becomes an int32 constant only when asked."""

    def __init__(self, value: int, span: Span | None = None):
        self.value = value
        self.span = span

    def asobject(self) -> Any:
        return const(self.value, "int32", self.span)
