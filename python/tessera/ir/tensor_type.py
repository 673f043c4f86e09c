"""The type of tensors."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .type import Type

__all__ = ["TensorType"]


@register_object("relay.TensorType")
class TensorType(Type):
    """A tensor of `dtype` elements; an extent may be `relay.Any()`, known only at run time."""

    def __init__(self, shape: Any, dtype: str = "float32"):
        self.__init_handle_by_constructor__(_ffi_api.TensorType, shape, dtype)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The extents as Python numbers; an error where one is not a number."""
        return tuple(int(extent) for extent in self.shape)
