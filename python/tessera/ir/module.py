"""Functions under names: the unit that passes work on."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import get_global_func, register_object
from ..runtime.object_generic import convert
from . import _ffi_api
from .base import Node
from .expr import GlobalVar, RelayExpr

__all__ = ["IRModule"]


@register_object("IRModule")
class IRModule(Node):
    """Functions by global name. A change of the module is seen by all who hold it."""

    def __init__(self, functions: Any = None, type_definitions: Any = None):
        self.__init_handle_by_constructor__(
            _ffi_api.IRModule, _by_global_var(functions), dict(type_definitions or {}), None
        )

    def __setitem__(self, var: str | GlobalVar, val: Any) -> None:
        _ffi_api.Module_Add(self, var, val, True)

    def __getitem__(self, var: str | GlobalVar) -> Any:
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

    @staticmethod
    def from_expr(expr: RelayExpr, functions: Any = None, type_defs: Any = None) -> IRModule:
        """A module of one function, named by its "global_symbol", or "main"."""
        return _ffi_api.Module_FromExpr(expr, _by_global_var(functions), dict(type_defs or {}))

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


def _by_global_var(functions: Any) -> dict[GlobalVar, Any]:
    """Functions under GlobalVars, made of names where names are given."""
    out = {}
    for key, function in dict(functions.items() if functions is not None else {}).items():
        if not isinstance(key, (str, GlobalVar)):
            raise TypeError(f"Expect functions to be Dict[GlobalVar, BaseFunc], got the key {key!r}")
        out[GlobalVar(key) if isinstance(key, str) else key] = function
    return out
