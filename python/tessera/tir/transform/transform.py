"""Passes over loop programs, by name. Most constructors come from the core's table of passes, src/tir/transform/passes.cc."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ...ir.pass_table import pass_constructors
from ...ir.transform import Pass
from . import _ffi_api
from .function_pass import prim_func_pass

_constructors = pass_constructors("tir.transform.", __name__)
globals().update(_constructors)

__all__ = ["Apply", "HoistIfThenElse", "HoistedConditionals", "HoistedLetBindings", *_constructors]


def Apply(ftransform: Callable[[Any], Any]) -> Pass:
    """Replaces each function by `ftransform(func)`."""

    def transform(func: Any, mod: Any, ctx: Any) -> Any:
        return ftransform(func)

    return prim_func_pass(transform, opt_level=0, name="Apply")


def HoistIfThenElse(variant: str | None = None) -> Pass:
    """Moves conditions out of the loops they do not depend on; variant "basic" stays inside kernels."""
    if variant == "basic":
        return _ffi_api.HoistIfThenElseBasic()
    if variant is not None:
        raise ValueError(f'wrong variant of HoistIfThenElse, {variant}; it may be "basic" or None')
    return _ffi_api.HoistIfThenElse()


class HoistedConditionals(enum.Flag):
    """Which conditions HoistExpression moves, for its config "hoisted_conditionals"."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(enum.Flag):
    """Which bindings HoistExpression moves, for its config "hoisted_let_bindings"."""

    Never = 0
    RequiredByCondition = 1
    LetStmt = 2
    LetExpr = 4
    All = RequiredByCondition | LetStmt | LetExpr
