"""Arrays and maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._ffi.registry import register_object
from .._ffi_core import ArrayBase, MapBase, convert
from ..runtime.object import Object

__all__ = ["Array", "Map"]


@register_object("Array")
class Array(ArrayBase, Object):
    """An immutable sequence of objects; a slice of it is a list."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return convert([*self, *other])

    def __radd__(self, other: Any) -> Any:
        return convert([*other, *self])


@register_object("Map")
class Map(MapBase, Object):
    """An immutable map that keeps the order of insertion; str keys compare by text, objects by identity."""

    __slots__ = ()

    def keys(self) -> Iterator[Any]:
        return iter(self)

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self.items()])

    def get(self, key: Any, default: Any = None) -> Any:
        """The value under `key`, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401
