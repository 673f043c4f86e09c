"""Passes over Relay as a language: normal forms, functions, closures, gradients."""

from __future__ import annotations

from typing import Any

from ...ir.transform import Pass
from . import _ffi_api

__all__ = [
    "FirstOrderGradient",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "gradient",
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
