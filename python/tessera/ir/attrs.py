"""Attributes of functions, modules and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api
from .base import make_node

__all__ = ["Attrs", "DictAttrs", "make_node"]


@dataclass(frozen=True)
class AttrFieldInfo:
    """What is known of an attribute: its name, and the type of the value it has."""

    name: str
    type_info: str
    description: str = ""


@register_object("Attrs")
class Attrs(Object):
    """Attributes with fixed names."""

    def keys(self) -> list[str]:
        """Names of the attributes."""
        return self._field_names()

    def list_field_info(self) -> list[AttrFieldInfo]:
        """The attributes in their order."""
        return [AttrFieldInfo(name, type(getattr(self, name)).__name__) for name in self._field_names()]

    def get_int_tuple(self, key: str) -> tuple[int, ...]:
        """A list of numbers as a tuple."""
        return tuple(x if isinstance(x, int) else x.value for x in self[key])

    def get_int(self, key: str) -> int:
        """An attribute as an int."""
        value = self[key]
        return value if isinstance(value, int) else int(value)

    def get_str(self, key: str) -> str:
        """An attribute as a str."""
        return self[key]

    def __getitem__(self, item: str) -> Any:
        if item not in self.keys():
            raise KeyError(item)
        return getattr(self, item)

    def __contains__(self, item: str) -> bool:
        return item in self.keys()


@register_object("DictAttrs")
class DictAttrs(Attrs):
    """Attributes with any names."""

    def _dict(self) -> Any:
        return _ffi_api.DictAttrsGetDict(self)

    def keys(self) -> list[str]:
        """Names of the attributes."""
        return [str(key) for key, _ in self.items()]

    def items(self) -> Any:
        """Names and values."""
        return self._dict().items()

    def get(self, key: str, default: Any = None) -> Any:
        """The attribute of that name, or `default`."""
        return self._dict().get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self._dict()[key]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self:
            return self[name]
        return super().__getattr__(name)

    def __contains__(self, key: str) -> bool:
        return key in self._dict()

    def __len__(self) -> int:
        return len(self._dict())
