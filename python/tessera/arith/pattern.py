"""Linear forms of expressions."""

from __future__ import annotations

from ..ir import PrimExpr
from ..tir import Var
from . import _ffi_api


def detect_linear_equation(expr: PrimExpr, var_list: list[Var]) -> list[PrimExpr]:
    """[factor of each variable, what is left], or [] when `expr` is not linear in the variables."""
    return _ffi_api.DetectLinearEquation(expr, var_list)


def detect_clip_bound(expr: PrimExpr, var_list: list[Var]) -> list[PrimExpr | None]:
    """[least, greatest value of each variable] under the conjunction `expr`; [] when it has another form."""
    return _ffi_api.DetectClipBound(expr, var_list)
