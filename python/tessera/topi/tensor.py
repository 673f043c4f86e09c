"""Tensors of one value, and sums of many."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from . import _ffi_api


def elemwise_sum(xs: list) -> Tensor:
    """The sum of tensors of one shape."""
    return _ffi_api.elemwise_sum(xs)


def full(shape: Any, dtype: str, fill_value: Any) -> Tensor:
    """A tensor of one value."""
    return _ffi_api.full(shape, dtype, fill_value)


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """A tensor of one value with the shape and type of x."""
    return _ffi_api.full_like(x, fill_value)
