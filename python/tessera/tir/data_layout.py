"""Layouts of tensors: which dimension is which, and how one layout becomes another."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api

__all__ = ["BijectiveLayout", "Layout", "bijective_layout", "layout"]


@register_object("tir.Layout")
class Layout(Object):
    """Dimensions by letters: upper case is a primal axis, lower case with a number a part split off it (NCHW16c)."""

    def __len__(self) -> int:
        return _ffi_api.LayoutNdim(self)

    def __contains__(self, axis: str) -> bool:
        return len(axis) == 1 and axis in {c for c in self.name if c.isalpha()}

    def __getitem__(self, index: int) -> str:
        if index >= len(self):
            raise IndexError("Layout index out of range")
        return _ffi_api.LayoutGetItem(self, index)

    def index_of(self, axis: str) -> int:
        """The position of an axis; -1 when the layout does not have it."""
        return _ffi_api.LayoutIndexOf(self, axis)

    def factor_of(self, axis: str) -> int:
        """The size of the part split off an axis; -1 when nothing is split off."""
        return _ffi_api.LayoutFactorOf(self, axis)


@register_object("tir.BijectiveLayout")
class BijectiveLayout(Object):
    """The way between two layouts of the same axes."""

    def forward_index(self, index: Any) -> Any:
        """Where an element goes."""
        return _ffi_api.BijectiveLayoutForwardIndex(self, index)

    def backward_index(self, index: Any) -> Any:
        """Where an element comes from."""
        return _ffi_api.BijectiveLayoutBackwardIndex(self, index)

    def forward_shape(self, shape: Any) -> Any:
        """The shape in the other layout."""
        return _ffi_api.BijectiveLayoutForwardShape(self, shape)

    def backward_shape(self, shape: Any) -> Any:
        """The shape in the first layout."""
        return _ffi_api.BijectiveLayoutBackwardShape(self, shape)


def layout(layout_str: str) -> Layout:
    """The layout that a text such as "NCHW16c" describes."""
    return _ffi_api.Layout(layout_str)


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout:
    """The way from one layout to another."""
    if isinstance(src_layout, str):
        src_layout = layout(src_layout)
    if isinstance(dst_layout, str):
        dst_layout = layout(dst_layout)
    return _ffi_api.BijectiveLayout(src_layout, dst_layout)
