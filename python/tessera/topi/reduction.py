"""Reductions over some or all axes. `axis` is None for all of them, a number or a list; negative numbers count from the end."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from . import _ffi_api


def sum(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over `axis`."""
    return _ffi_api.sum(data, axis, keepdims)


def all(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over `axis` are true."""
    return _ffi_api.all(data, axis, keepdims)


def any(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element over `axis` is true."""
    return _ffi_api.any(data, axis, keepdims)


def max(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element over `axis`."""
    return _ffi_api.max(data, axis, keepdims)


def min(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The least element over `axis`."""
    return _ffi_api.min(data, axis, keepdims)


def prod(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product over `axis`."""
    return _ffi_api.prod(data, axis, keepdims)


def argmax(data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The position of the greatest element over `axis`; of equal ones the first, or the last."""
    return _ffi_api.argmax(data, axis, keepdims, select_last_index)


def argmin(data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The position of the least element over `axis`; of equal ones the first, or the last."""
    return _ffi_api.argmin(data, axis, keepdims, select_last_index)
