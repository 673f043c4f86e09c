"""Run-time containers: strings, shapes, tagged tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._ffi.registry import register_object
from . import _ffi_api
from .object import Object, PyNativeObject

__all__ = ["ADT", "ShapeTuple", "String", "getitem_helper", "tuple_object"]


def getitem_helper(obj: Any, elem_getter: Any, length: int, idx: Any) -> Any:
    """``obj[idx]`` of a sequence with `length` items: a slice gives a list, negative numbers count from the end."""
    if isinstance(idx, slice):
        return [elem_getter(obj, i) for i in range(*idx.indices(length))]
    if idx < -length or idx >= length:
        raise IndexError(f"Index out of range. size: {length}, got index {idx}")
    return elem_getter(obj, idx + length if idx < 0 else idx)


class String(str, PyNativeObject):
    """A string of the core; a str in every way."""

    __slots__ = ()


@register_object("runtime.ADT")
class ADT(Object):
    """A tagged tuple: a constructor's number and its fields."""

    __slots__ = ()

    def __init__(self, tag: int, fields: Sequence[Any]):
        self.__init_handle_by_constructor__(_ffi_api.ADT, tag, len(fields), *fields)

    @property
    def tag(self) -> int:
        return _ffi_api.GetADTTag(self)

    def __len__(self) -> int:
        return _ffi_api.GetADTSize(self)

    def __getitem__(self, idx: Any) -> Any:
        return getitem_helper(self, _ffi_api.GetADTFields, len(self), idx)


def tuple_object(fields: Sequence[Any] | None = None) -> ADT:
    """A plain tuple: an ADT with tag 0."""
    fields = fields if fields is not None else []
    for field in fields:
        if not hasattr(field, "handle"):
            raise TypeError(f"Expect the elements to be NDArrays or ADTs, but got {type(field)}")
    return _ffi_api.Tuple(*fields)


@register_object("runtime.ShapeTuple")
class ShapeTuple(Object):
    """The extents of a tensor as one value."""

    __slots__ = ()

    def __init__(self, shape: Sequence[int]):
        self.__init_handle_by_constructor__(_ffi_api.ShapeTuple, *shape)

    def __len__(self) -> int:
        return _ffi_api.GetShapeTupleSize(self)

    def __getitem__(self, idx: Any) -> Any:
        return getitem_helper(self, _ffi_api.GetShapeTupleElem, len(self), idx)

    def __iter__(self) -> Iterator[int]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        if self.same_as(other):
            return True
        return isinstance(other, (ShapeTuple, list, tuple)) and list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))
