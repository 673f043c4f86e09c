"""Functions of two operands whose shapes are broadcast to each other."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from . import _ffi_api


def broadcast_to(data: Tensor, shape: Any) -> Tensor:
    """data broadcast to shape."""
    return _ffi_api.broadcast_to(data, shape)


def add(lhs: Any, rhs: Any) -> Any:
    """lhs + rhs."""
    return _ffi_api.add(lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> Any:
    """lhs - rhs."""
    return _ffi_api.subtract(lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> Any:
    """lhs * rhs."""
    return _ffi_api.multiply(lhs, rhs)


def divide(lhs: Any, rhs: Any) -> Any:
    """lhs / rhs; integers are divided towards zero."""
    return _ffi_api.divide(lhs, rhs)


def floor_divide(lhs: Any, rhs: Any) -> Any:
    """lhs // rhs, rounded down."""
    return _ffi_api.floor_divide(lhs, rhs)


def mod(lhs: Any, rhs: Any) -> Any:
    """The remainder with the sign of lhs."""
    return _ffi_api.mod(lhs, rhs)


def floor_mod(lhs: Any, rhs: Any) -> Any:
    """The remainder with the sign of rhs."""
    return _ffi_api.floor_mod(lhs, rhs)


def maximum(lhs: Any, rhs: Any) -> Any:
    """The greater of both."""
    return _ffi_api.maximum(lhs, rhs)


def minimum(lhs: Any, rhs: Any) -> Any:
    """The lesser of both."""
    return _ffi_api.minimum(lhs, rhs)


def power(lhs: Any, rhs: Any) -> Any:
    """lhs to the power of rhs."""
    return _ffi_api.power(lhs, rhs)


def left_shift(lhs: Any, rhs: Any) -> Any:
    """lhs << rhs."""
    return _ffi_api.left_shift(lhs, rhs)


def right_shift(lhs: Any, rhs: Any) -> Any:
    """lhs >> rhs."""
    return _ffi_api.right_shift(lhs, rhs)


def greater(lhs: Any, rhs: Any) -> Any:
    """lhs > rhs."""
    return _ffi_api.greater(lhs, rhs)


def less(lhs: Any, rhs: Any) -> Any:
    """lhs < rhs."""
    return _ffi_api.less(lhs, rhs)


def equal(lhs: Any, rhs: Any) -> Any:
    """lhs == rhs."""
    return _ffi_api.equal(lhs, rhs)


def not_equal(lhs: Any, rhs: Any) -> Any:
    """lhs != rhs."""
    return _ffi_api.not_equal(lhs, rhs)


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """lhs >= rhs."""
    return _ffi_api.greater_equal(lhs, rhs)


def less_equal(lhs: Any, rhs: Any) -> Any:
    """lhs <= rhs."""
    return _ffi_api.less_equal(lhs, rhs)


def logical_and(lhs: Any, rhs: Any) -> Any:
    """lhs and rhs."""
    return _ffi_api.logical_and(lhs, rhs)


def logical_or(lhs: Any, rhs: Any) -> Any:
    """lhs or rhs."""
    return _ffi_api.logical_or(lhs, rhs)


def logical_xor(lhs: Any, rhs: Any) -> Any:
    """Exactly one of lhs and rhs."""
    return _ffi_api.logical_xor(lhs, rhs)


def bitwise_and(lhs: Any, rhs: Any) -> Any:
    """lhs & rhs."""
    return _ffi_api.bitwise_and(lhs, rhs)


def bitwise_or(lhs: Any, rhs: Any) -> Any:
    """lhs | rhs."""
    return _ffi_api.bitwise_or(lhs, rhs)


def bitwise_xor(lhs: Any, rhs: Any) -> Any:
    """lhs ^ rhs."""
    return _ffi_api.bitwise_xor(lhs, rhs)


def logical_not(data: Tensor) -> Tensor:
    """not data."""
    return _ffi_api.logical_not(data)


def bitwise_not(data: Tensor) -> Tensor:
    """~data."""
    return _ffi_api.bitwise_not(data)
