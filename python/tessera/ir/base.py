"""What every node can do: compare, hash, print, be saved and loaded."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import get_global_func, register_object
from ..runtime import _ffi_node_api
from ..runtime.object import Object
from ..runtime.object_generic import convert
from . import _ffi_api

__all__ = [
    "EnvFunc",
    "Node",
    "SourceName",
    "Span",
    "assert_structural_equal",
    "load_json",
    "make_node",
    "save_json",
    "structural_equal",
    "structural_hash",
]


class Node(Object):
    """An object that is part of a program."""

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text form, with large constants and attributes in a section of their own at the end."""
        return _ffi_api.AsText(self, show_meta_data, annotate)

    def __str__(self) -> str:
        text = get_global_func("ir.PrettyPrint", allow_missing=True)
        return text(self) if text is not None else repr(self)


@register_object("SourceName")
class SourceName(Object):
    """The name of a source file or text that spans refer to."""

    def __init__(self, name: str):
        self.__init_handle_by_constructor__(_ffi_api.SourceName, name)


@register_object("Span")
class Span(Object):
    """A range of a source: lines and columns, both counted from 1."""

    def __init__(self, source_name: SourceName, line: int, end_line: int, column: int, end_column: int):
        self.__init_handle_by_constructor__(_ffi_api.Span, source_name, line, end_line, column, end_column)


@register_object("TextSpan")
class TextSpan(Span):
    """A span of Relay text: `line` and `column` as v0.10 tells them, `text_line` and `text_column` as they are."""


@register_object("EnvFunc")
class EnvFunc(Object):
    """A global function as a node: saved by its name."""

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)

    @property
    def func(self) -> Any:
        return _ffi_api.EnvFuncGetPackedFunc(self)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The EnvFunc of the global function of that name."""
        return _ffi_api.EnvFuncGet(name)


def load_json(json_str: str) -> Any:
    """The object that `save_json` wrote."""
    from .json_compact import upgrade_json

    return _ffi_node_api.LoadJSON(upgrade_json(json_str))


def save_json(node: Any) -> str:
    """The object and all it refers to as JSON text."""
    return _ffi_node_api.SaveJSON(node)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """True when both have the same structure. Variables are equal where they are bound alike.

    With `map_free_vars` a free variable equals the one at the same position of the other side.
    """
    return bool(_ffi_node_api.StructuralEqual(convert(lhs), convert(rhs), False, map_free_vars))


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Any:
    """Paths to the first position where the two differ, or None when they are equal."""
    found = _ffi_node_api.GetFirstStructuralMismatch(convert(lhs), convert(rhs), map_free_vars)
    return None if found is None else (found.lhs_path, found.rhs_path)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError, saying where, when the two are not equal in structure."""
    _ffi_node_api.StructuralEqual(convert(lhs), convert(rhs), True, map_free_vars)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that is the same for objects that are equal in structure."""
    return _ffi_node_api.StructuralHash(convert(node), map_free_vars)


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node of a type given by key, with its fields by name."""
    if type_key == "DictAttrs":
        return _ffi_api.DictAttrs(kwargs)
    args: list[Any] = [type_key]
    for name, value in kwargs.items():
        args += [name, convert(value)]  # a bool stays one
    return _ffi_node_api.MakeNode(*args)
