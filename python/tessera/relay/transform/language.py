"""Passes over Relay as a language: normal forms, functions, closures, gradients."""

from __future__ import annotations

from typing import Any

from ...ir.transform import Pass
from . import _ffi_api

__all__ = [
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
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
