"""Functions for external code generators, which carry the attribute Compiler: made global, given away, taken back."""

from __future__ import annotations

from typing import Any

from ...ir import GlobalVar, IRModule
from ...ir.transform import Pass, PassContext, module_pass
from ..expr import Call, bind
from ..expr_functor import ExprMutator
from ..function import Function

__all__ = [
    "InlineCompilerFunctionsBoundTo",
    "MarkCompilerFunctionsAsExtern",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
]


def _is_for(function: Any, compiler_filter: str) -> bool:
    """True when a function is for the compiler, or for any where the filter is empty."""
    if not isinstance(function, Function) or not function.attrs or "Compiler" not in function.attrs:
        return False
    return not compiler_filter or str(function.attrs["Compiler"]) == compiler_filter


def _copy(mod: IRModule) -> IRModule:
    return IRModule(dict(mod.functions), dict(mod.type_definitions))


def _map_functions(mod: IRModule, make: Any) -> IRModule:
    """The module with `make(out, global)` in place of each Relay function; None drops it."""
    out = _copy(mod)
    for name in mod.get_global_vars():
        function = mod[name]
        if isinstance(function, Function):
            out[name] = make(out, function)
    return out


class _Outliner(ExprMutator):
    def __init__(self, mod: IRModule, compiler_filter: str):
        super().__init__()
        self.mod, self.compiler_filter = mod, compiler_filter

    def visit_call(self, call: Call) -> Any:
        call = super().visit_call(call)
        function = call.op
        if not _is_for(function, self.compiler_filter) or "global_symbol" not in function.attrs:
            return call
        symbol = str(function.attrs["global_symbol"])
        known = {var.name_hint: var for var in self.mod.get_global_vars()}
        if symbol not in known:
            known[symbol] = GlobalVar(symbol)
            self.mod[known[symbol]] = function
        return Call(known[symbol], call.args, call.attrs, call.type_args, call.span)


def OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler_filter: str = "") -> Pass:
    """Functions inside others that have the attributes Compiler and global_symbol become global, by that symbol."""

    def outline(mod: IRModule, _: PassContext) -> IRModule:
        return _map_functions(mod, lambda out, function: _Outliner(out, compiler_filter).visit(function))

    return module_pass(outline, opt_level=0, name="OutlineCompilerFunctionsWithExistingGlobalSymbols")


def MarkCompilerFunctionsAsExtern(compiler_filter: str = "") -> Pass:
    """Global functions for external compilers keep only the attribute Extern: what was compiled elsewhere has them."""

    def mark(mod: IRModule, _: PassContext) -> IRModule:
        def make(out: IRModule, function: Function) -> Function:
            del out
            if not _is_for(function, compiler_filter):
                return function
            plain = Function(function.params, function.body, function.ret_type, function.type_params)
            return plain.with_attr("Extern", 1)

        return _map_functions(mod, make)

    return module_pass(mark, opt_level=0, name="MarkCompilerFunctionsAsExtern")


class _Inliner(ExprMutator):
    def __init__(self, mod: IRModule, names: set[str]):
        super().__init__()
        self.mod, self.names = mod, names

    def visit_call(self, call: Call) -> Any:
        call = super().visit_call(call)
        if not isinstance(call.op, GlobalVar) or call.op.name_hint not in self.names:
            return call
        function = self.mod[call.op.name_hint]
        return bind(function.body, dict(zip(function.params, call.args)))


def InlineCompilerFunctionsBoundTo(global_vars: list[GlobalVar]) -> Pass:
    """Calls of these functions become their bodies, and the functions are dropped."""
    names = {var.name_hint for var in global_vars}

    def inline(mod: IRModule, _: PassContext) -> IRModule:
        if not names:
            return mod
        functions = {}
        for var in mod.get_global_vars():
            if var.name_hint not in names:
                function = mod[var]
                functions[var] = _Inliner(mod, names).visit(function) if isinstance(function, Function) else function
        return IRModule(functions, dict(mod.type_definitions))

    return module_pass(inline, opt_level=0, name="InlineCompilerFunctionsBoundTo")
