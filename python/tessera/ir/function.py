"""What functions of every kind share."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .._ffi.registry import register_object
from ..runtime.object_generic import convert
from . import _ffi_api
from .expr import RelayExpr

__all__ = ["BaseFunc", "CallingConv"]


class CallingConv(IntEnum):
    """How a lowered function is called (attribute "calling_conv")."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


@register_object("BaseFunc")
class BaseFunc(RelayExpr):
    """The base of all functions."""

    @property
    def attrs(self) -> Any:
        """Attributes of the function."""
        return _ffi_api.BaseFunc_Attrs(self)

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> Any:
        """A copy of the function with one more attribute, or with those of a dict."""
        changes = attr_key_or_dict if isinstance(attr_key_or_dict, dict) else {attr_key_or_dict: attr_value}
        out = self
        for key, value in changes.items():
            out = _ffi_api.BaseFuncWithAttr(out, key, convert(value))
        return out

    def without_attr(self, attr_key: str) -> Any:
        """A copy of the function without one attribute."""
        return _ffi_api.BaseFuncWithoutAttr(self, attr_key)
