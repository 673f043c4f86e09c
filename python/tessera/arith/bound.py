"""Bounds that a condition puts on a variable."""

from __future__ import annotations

from ..ir import PrimExpr
from ..tir import Var
from . import _ffi_api
from .int_set import IntSet


def deduce_bound(var: PrimExpr, cond: PrimExpr, hint_map: dict[Var, IntSet], relax_map: dict[Var, IntSet]) -> IntSet:
    """The values of `var` for which `cond` holds whatever the variables of `relax_map` are in their sets.

    Variables of `hint_map` stay symbols in the answer. The empty set when no interval can be told.
    """
    return _ffi_api.DeduceBound(var, cond, hint_map, relax_map)
