"""Relay as a language: functions of expressions, where transform.py has passes over modules."""

from __future__ import annotations

from typing import Any

from . import _ffi_api

__all__ = ["Defunctionalization", "ToANormalFormExpr", "ToCPS", "gradient", "to_cps", "un_cps"]


def ToANormalFormExpr(e: Any) -> Any:
    """One expression in A-normal form."""
    return _ffi_api.ToANormalFormExpr(e)


def to_cps(func: Any, mod: Any = None) -> Any:
    """The function in continuation passing style. Functions of `mod` that it calls get counterparts there."""
    return _ffi_api.to_cps(func, mod)


def ToCPS(expr: Any, mod: Any = None) -> Any:
    """The same for an expression."""
    return to_cps(expr, mod)


def un_cps(func: Any) -> Any:
    """A function in direct style that calls one in continuation passing style."""
    return _ffi_api.un_cps(func)


def Defunctionalization(func: Any, mod: Any) -> Any:
    """The function without functions as values: closures become data, and calls of unknown functions calls of `apply`.

    `func` must have one type, without functions in its parameters and its result. `mod` gets the data types, the apply
    functions and copies of the functions that are called, one for each of the types they are called with.
    """
    return _ffi_api.Defunctionalization(func, mod)


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
