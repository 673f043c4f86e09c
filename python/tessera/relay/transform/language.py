"""Passes over Relay as a language: normal forms, functions, closures, gradients."""

from __future__ import annotations

from typing import Any

from ...ir.transform import Pass
from . import _ffi_api

__all__ = [
    "Defunctionalization",
    "EtaExpand",
    "FirstOrderGradient",
    "Inline",
    "LambdaLift",
    "LazyGradientInit",
    "PartialEvaluate",
    "PlanDevices",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToCPS",
    "gradient",
    "to_cps",
    "un_cps",
]


def ToANormalForm() -> Pass:
    """Gives every value a name by a let, in the order of evaluation."""
    return _ffi_api.ToANormalForm()


def ToANormalFormExpr(e: Any) -> Any:
    """One expression in A-normal form."""
    return _ffi_api.ToANormalFormExpr(e)


def ToBasicBlockNormalForm() -> Pass:
    """Names, by lets, what is used in more than one scope."""
    return _ffi_api.ToBasicBlockNormalForm()


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> Pass:
    """Makes functions of constructors and globals that are used as values."""
    return _ffi_api.EtaExpand(expand_constructor, expand_global_var)


def Inline() -> Pass:
    """Puts the bodies of functions marked "Inline" in place of their calls."""
    return _ffi_api.Inline()


def LambdaLift() -> Pass:
    """Makes global functions of local ones."""
    return _ffi_api.LambdaLift()


def LazyGradientInit() -> Pass:
    """Leaves out computations with the zeros and ones that gradients start from."""
    return _ffi_api.LazyGradientInit()


def PlanDevices(config: Any) -> Pass:
    """Says of every value on which device it is, and copies those that are marked by `on_device` and used elsewhere."""
    return _ffi_api.PlanDevices(config)


def PartialEvaluate() -> Pass:
    """Computes what is known when the program is compiled; the result is in A-normal form."""
    return _ffi_api.PartialEvaluate()


def to_cps(func: Any, mod: Any = None) -> Any:
    """The function in continuation passing style. Functions of `mod` that it calls get counterparts there."""
    return _ffi_api.to_cps(func, mod)


def un_cps(func: Any) -> Any:
    """A function in direct style that calls one in continuation passing style."""
    return _ffi_api.un_cps(func)


def Defunctionalization(func: Any, mod: Any) -> Any:
    """The function without functions as values: closures become data, and calls of unknown functions calls of `apply`.

    `func` must have one type, without functions in its parameters and its result. `mod` gets the data types, the apply
    functions and copies of the functions that are called, one for each of the types they are called with.
    """
    return _ffi_api.Defunctionalization(func, mod)


def ToCPS() -> Pass:
    """Puts all functions of a module into continuation passing style."""
    return _ffi_api.ToCPS()


def FirstOrderGradient() -> Pass:
    """Replaces each function by one that also gives the gradients of its parameters, as a graph."""
    return _ffi_api.FirstOrderGradient()


def gradient(expr: Any, mod: Any = None, mode: str = "higher_order") -> Any:
    """From `fn (x, ...) -> T` to `fn (x, ...) -> (T, (dx, ...))`.

    The mode "first_order" is for graphs of operators and gives one; "higher_order" takes every program and gives one
    with references and closures. Functions of `mod` that are called get counterparts there.
    """
    if mode == "first_order":
        return _ffi_api.first_order_gradient(expr, mod)
    if mode == "higher_order":
        return _ffi_api.gradient(expr, mod)
    raise ValueError(f'unknown mode {mode!r}; there are "first_order" and "higher_order"')
