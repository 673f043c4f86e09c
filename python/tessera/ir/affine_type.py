"""What integers stand for: scale * (integer - zero point)."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .base import Node, structural_equal, structural_hash

__all__ = ["AffineType", "TensorAffineType", "TupleAffineType"]


class AffineType(Node):
    """The base of both. Equal when equal in structure."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineType) and structural_equal(self, other)

    def __hash__(self) -> int:
        return structural_hash(self)


@register_object("TensorAffineType")
class TensorAffineType(AffineType):
    """Of a tensor of integers of type `dtype`; scale and zero point are numbers, or vectors along `axis`."""

    def __init__(self, scale: Any, zero_point: Any, dtype: str, axis: int = -1):
        self.__init_handle_by_constructor__(_ffi_api.TensorAffineType, scale, zero_point, dtype, axis)


@register_object("TupleAffineType")
class TupleAffineType(AffineType):
    """Of a tuple, field by field."""

    def __init__(self, types: Any):
        self.__init_handle_by_constructor__(_ffi_api.TupleAffineType, types)
