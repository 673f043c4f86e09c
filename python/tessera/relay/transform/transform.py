"""Passes over Relay programs; names and arguments are v0.10's."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from ..._ffi.registry import register_object
from ...ir.transform import Pass, PassInfo
from . import _ffi_api

__all__ = [
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "FoldConstantExpr",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "RemoveUnusedFunctions",
    "ToGraphNormalForm",
    "function_pass",
]


@register_object("relay.FunctionPass")
class FunctionPass(Pass):
    """A pass that changes the functions of a module one by one."""


def InferType() -> Pass:
    """Finds the type of every expression, and fills in annotations that were left open."""
    return _ffi_api.InferType()


def InferTypeLocal(expr: Any) -> Any:
    """The type of one expression."""
    return _ffi_api.InferTypeLocal(expr)


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Makes one primitive function of each group of operators that one kernel computes.

    Level 0 gives each operator its own; -1 takes the level of the context.
    """
    return _ffi_api.FuseOps(fuse_opt_level)


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """Drops lets that nobody uses; with `inline_once`, values used once move to their use."""
    return _ffi_api.DeadCodeElimination(inline_once, ignore_impurity)


def EliminateCommonSubexpr(fskip: Any = None) -> Pass:
    """Makes equal calls one; those that `fskip` is true for stay apart."""
    return _ffi_api.EliminateCommonSubexpr(fskip)


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """Computes what depends on constants only; quantised operators too where `fold_qnn` says so."""
    return _ffi_api.FoldConstant(fold_qnn)


def FoldConstantExpr(expr: Any, mod: Any = None, fold_qnn: bool = False) -> Any:
    """One expression with its constant parts computed."""
    return _ffi_api.FoldConstantExpr(expr, mod, fold_qnn)


def ToGraphNormalForm() -> Pass:
    """Turns lets into sharing, where they mean no more than that."""
    return _ffi_api.ToGraphNormalForm()


def RemoveUnusedFunctions(entry_functions: Any = None) -> Pass:
    """Drops functions that the entry functions, by default "main", do not reach."""
    return _ffi_api.RemoveUnusedFunctions(entry_functions if entry_functions is not None else ["main"])


def function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Any = None
) -> Any:
    """A pass from `f(function, module, context) -> function`, or from a class with `transform_function`; a decorator."""
    if opt_level is None:
        raise ValueError("Please provide opt_level for the function pass.")

    def create(target: Any) -> Any:
        info = PassInfo(opt_level, name or target.__name__, required or [])
        if inspect.isclass(target):
            return _class_pass(target, info)
        return _ffi_api.MakeFunctionPass(target, info)

    return create if pass_func is None else create(pass_func)


def _class_pass(cls: type, info: PassInfo) -> Callable[..., Any]:
    """A maker of passes that takes the arguments of the class."""

    @functools.wraps(cls, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        instance = cls(*args, **kwargs)
        return _ffi_api.MakeFunctionPass(instance.transform_function, info)

    return make
