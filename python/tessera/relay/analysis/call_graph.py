"""Which functions of a module call which."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import register_object
from ...ir import GlobalVar, IRModule
from ...runtime.object import Object
from . import _ffi_api

__all__ = ["CallGraph"]


@register_object("relay.CallGraph")
class CallGraph(Object):
    """The calls between the functions of a module."""

    def __init__(self, module: IRModule):
        self.__init_handle_by_constructor__(_ffi_api.CallGraph, module)

    @property
    def module(self) -> IRModule:
        """The module."""
        return Object.__getattr__(self, "module")

    def ref_count(self, var: Any) -> int:
        """How often a function is called by functions of the module."""
        return int(_ffi_api.GetRefCountGlobalVar(self, self._get_global_var(var)))

    def global_call_count(self, var: Any) -> int:
        """How many calls of functions of the module a function makes."""
        return int(_ffi_api.GetGlobalVarCallCount(self, self._get_global_var(var)))

    def is_recursive(self, var: Any) -> bool:
        """True when a function calls itself."""
        return bool(_ffi_api.IsRecursive(self, self._get_global_var(var)))

    def _get_global_var(self, var: Any) -> GlobalVar:
        return var if isinstance(var, GlobalVar) else self.module.get_global_var(var)

    def print_var(self, var: Any) -> str:
        """The calls of one function, as text."""
        return _ffi_api.PrintCallGraphGlobalVar(self, self._get_global_var(var))

    def __getitem__(self, var: Any) -> str:
        return self.print_var(var)

    def __str__(self) -> str:
        return _ffi_api.PrintCallGraph(self)
