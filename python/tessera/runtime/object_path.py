"""The way from an object to one of its parts, as messages and comparisons name it."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from . import _ffi_node_api
from .object import Object

__all__ = ["ObjectPath", "ObjectPathPair"]


@register_object("ObjectPath")
class ObjectPath(Object):
    """Steps from a root through fields, items and entries. Made from `ObjectPath.root()` on."""

    def __init__(self) -> None:
        raise ValueError("An ObjectPath begins with ObjectPath.root(); the steps are its methods")

    @staticmethod
    def root() -> ObjectPath:
        """The path of no steps."""
        return _ffi_node_api.ObjectPathRoot()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and bool(_ffi_node_api.ObjectPathEqual(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return _ffi_node_api.ObjectPathText(self)

    def __len__(self) -> int:
        return _ffi_node_api.ObjectPathLength(self)

    @property
    def parent(self) -> ObjectPath | None:
        """The path without its last step; None of the root."""
        return _ffi_node_api.ObjectPathGetParent(self)

    def get_prefix(self, length: int) -> ObjectPath:
        """The first `length` steps; the root alone is of length 1."""
        return _ffi_node_api.ObjectPathGetPrefix(self, length)

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """True when the other path begins with this one."""
        return bool(_ffi_node_api.ObjectPathIsPrefixOf(self, other))

    def attr(self, attr_key: str | None) -> ObjectPath:
        """Into the field of that name; None where no field leads to the part."""
        return _ffi_node_api.ObjectPathAttr(self, attr_key)

    def array_index(self, index: int) -> ObjectPath:
        """Into the item of an array."""
        return _ffi_node_api.ObjectPathArrayIndex(self, index)

    def missing_array_element(self, index: int) -> ObjectPath:
        """To the position where an array has no item although the other side of a comparison has one."""
        return _ffi_node_api.ObjectPathMissingArrayElement(self, index)

    def map_value(self, key: Any) -> ObjectPath:
        """Into the value of a map."""
        return _ffi_node_api.ObjectPathMapValue(self, key)

    def missing_map_entry(self) -> ObjectPath:
        """To the entry that a map lacks."""
        return _ffi_node_api.ObjectPathMissingMapEntry(self)


@register_object("RootPath")
class RootPath(ObjectPath):
    """The beginning of a path."""


@register_object("AttributeAccessPath")
class AttributeAccessPath(ObjectPath):
    """Into the field `attr_key`."""


@register_object("UnknownAttributeAccessPath")
class UnknownAttributeAccessPath(ObjectPath):
    """To a part that no field leads to."""


@register_object("ArrayIndexPath")
class ArrayIndexPath(ObjectPath):
    """Into item `index`."""


@register_object("MissingArrayElementPath")
class MissingArrayElementPath(ObjectPath):
    """To item `index`, which is not there."""


@register_object("MapValuePath")
class MapValuePath(ObjectPath):
    """Into the value under `key`."""


@register_object("MissingMapEntryPath")
class MissingMapEntryPath(ObjectPath):
    """To an entry that is not there."""


@register_object("ObjectPathPair")
class ObjectPathPair(Object):
    """Two paths, one on each side of a comparison."""

    @property
    def lhs_path(self) -> ObjectPath:
        """In what stands on the left."""
        return self._field("lhs_path")

    @property
    def rhs_path(self) -> ObjectPath:
        """In what stands on the right."""
        return self._field("rhs_path")
