"""The operators that other classes of expressions (tensors) may take over; see topi.generic_op_impl."""

from __future__ import annotations

from typing import Any

from . import _ffi_api

#: Of several replacements of these functions, the one of the highest priority counts.
__op_priority__ = 0


def add(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """lhs + rhs"""
    return _ffi_api._OpAdd(lhs, rhs, span)


def subtract(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """lhs - rhs"""
    return _ffi_api._OpSub(lhs, rhs, span)


def multiply(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """lhs * rhs"""
    return _ffi_api._OpMul(lhs, rhs, span)


def divide(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """lhs / rhs; truncating on integers"""
    return _ffi_api._OpDiv(lhs, rhs, span)


def floordiv(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """lhs // rhs"""
    return _ffi_api._OpFloorDiv(lhs, rhs, span)


def cast(src: Any, dtype: str, span: Any = None) -> Any:
    """`src` as a value of type `dtype`"""
    return _ffi_api._cast(dtype, src, span)
