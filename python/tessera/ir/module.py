"""Functions under names: the unit that passes work on."""

from __future__ import annotations

import pathlib
from typing import Any

from .._ffi.registry import get_global_func, register_object
from ..runtime.object_generic import convert
from . import _ffi_api
from .adt import Constructor
from .base import Node
from .expr import GlobalVar, RelayExpr
from .function import BaseFunc
from .type import GlobalTypeVar, Type

__all__ = ["IRModule"]


@register_object("IRModule")
class IRModule(Node):
    """Functions by global name. A change of the module is seen by all who hold it."""

    def __init__(self, functions: Any = None, type_definitions: Any = None):
        self.__init_handle_by_constructor__(
            _ffi_api.IRModule, _by_global_var(functions), _by_type_var(type_definitions), None
        )

    def __setitem__(self, var: str | GlobalVar | GlobalTypeVar, val: Any) -> None:
        """Adds or replaces a function, or under a GlobalTypeVar a data type."""
        if isinstance(val, Type):
            header = GlobalTypeVar(var) if isinstance(var, str) else var
            _ffi_api.Module_AddDef(self, header, val, True)
        else:
            _ffi_api.Module_Add(self, var, _as_function(val), True)

    def __getitem__(self, var: str | GlobalVar | GlobalTypeVar) -> Any:
        if isinstance(var, GlobalTypeVar):
            return _ffi_api.Module_LookupDef(self, var)
        return _ffi_api.Module_Lookup(self, var)

    def __delitem__(self, var: str | GlobalVar) -> None:
        _ffi_api.Module_Remove(self, var)

    def __contains__(self, var: str | GlobalVar) -> bool:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        return bool(_ffi_api.Module_ContainGlobalVar(self, name))

    def update(self, other: Any) -> None:
        """Takes over the functions of another module, or of a dict."""
        _ffi_api.Module_Update(self, IRModule(other) if isinstance(other, dict) else other)

    def update_func(self, var: GlobalVar, func: Any) -> None:
        """Replaces the function of `var`."""
        _ffi_api.Module_UpdateFunction(self, var, func)

    def get_global_var(self, name: str) -> GlobalVar:
        """The global of that name."""
        return _ffi_api.Module_GetGlobalVar(self, name)

    def get_global_vars(self) -> Any:
        """All globals of the module."""
        return _ffi_api.Module_GetGlobalVars(self)

    def get_global_type_vars(self) -> Any:
        """All type definitions' names."""
        return _ffi_api.Module_GetGlobalTypeVars(self)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The data type of that name."""
        return _ffi_api.Module_GetGlobalTypeVar(self, name)

    def get_constructor(self, tag: int) -> Constructor:
        """The constructor whose values carry `tag`."""
        return _ffi_api.Module_LookupTag(self, tag)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """The data type of that name, followed by its constructors."""
        var = self.get_global_type_var(name)
        return (var, *self[var].constructors)

    def import_(self, file_to_import: str) -> None:
        """Adds what a file of Relay text defines."""
        with open(file_to_import, encoding="utf-8") as file:
            self._import_text(file_to_import, file.read())

    def import_from_std(self, file_to_import: str) -> None:
        """Adds what a file of the library that comes with the package defines, such as "prelude.rly"."""
        path = pathlib.Path(__file__).parents[1] / "relay" / "std" / file_to_import
        if not path.is_file():
            known = ", ".join(sorted(found.name for found in path.parent.glob("*.rly")))
            raise ValueError(f"no file {file_to_import!r} in the library; it has {known}")
        self.import_(str(path))

    def _import_text(self, name: str, text: str) -> None:
        get_global_func("parser.ImportText")(self, name, text)

    def functionally_equal(self, other: IRModule) -> bool:
        """True when both modules have the same functions and data types."""
        from .base import structural_equal

        return structural_equal(self, other)

    @staticmethod
    def from_expr(expr: RelayExpr, functions: Any = None, type_defs: Any = None) -> IRModule:
        """A module of one function, named by its "global_symbol", or "main"."""
        return _ffi_api.Module_FromExpr(_as_function(expr), _by_global_var(functions), _by_type_var(type_defs))

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """A copy of the module with one more attribute."""
        return _ffi_api.Module_WithAttr(self, attr_key, convert(attr_value))

    def get_attr(self, attr_key: str) -> Any:
        """The attribute of that name, or None."""
        return _ffi_api.Module_GetAttr(self, attr_key)

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """The module as TVMScript."""
        return get_global_func("script.AsTVMScript")(self, tir_prefix, show_meta)

    def show(self, style: str | None = None) -> None:
        """Prints the module as TVMScript, in colours where that is possible."""
        from ..script.highlight import cprint

        cprint(self, style=style)

    def __repr__(self) -> str:
        return self.astext()


def _as_function(expr: Any) -> Any:
    """An expression as a function of its free variables; functions as they are."""
    expr = expr.astuple() if hasattr(expr, "astuple") else expr  # operators with several results
    if isinstance(expr, BaseFunc) or not isinstance(expr, RelayExpr):
        return expr
    from ..relay import Function, analysis

    return Function(analysis.free_vars(expr), expr, None, analysis.free_type_vars(expr))


def _by_global_var(functions: Any) -> dict[GlobalVar, Any]:
    """Functions under GlobalVars, made of names where names are given."""
    out = {}
    for key, function in dict(functions.items() if functions is not None else {}).items():
        if not isinstance(key, (str, GlobalVar)):
            raise TypeError(f"Expect functions to be Dict[GlobalVar, BaseFunc], got the key {key!r}")
        out[GlobalVar(key) if isinstance(key, str) else key] = _as_function(function)
    return out


def _by_type_var(definitions: Any) -> dict[GlobalTypeVar, Any]:
    """Data types under GlobalTypeVars, made of names where names are given."""
    items = dict(definitions.items() if definitions is not None else {}).items()
    return {GlobalTypeVar(key) if isinstance(key, str) else key: data for key, data in items}
