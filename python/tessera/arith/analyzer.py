"""What is known of integers at a point of a program, and what follows from it."""

from __future__ import annotations

from typing import Any, Callable

from .._ffi.registry import register_object
from ..ir import PrimExpr, Range
from ..runtime.object import Object
from ..tir import Var
from . import _ffi_api
from .int_set import IntSet


@register_object("arith.ModularSet")
class ModularSet(Object):
    """The values k * coeff + base."""

    def __init__(self, coeff: int, base: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ModularSet, coeff, base)


@register_object("arith.ConstIntBound")
class ConstIntBound(Object):
    """The values from min_value to max_value, both included."""

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ConstIntBound, min_value, max_value)


class ConstraintScope:
    """Takes a condition for true inside a `with` block."""

    def __init__(self, fenter: Callable[[], Callable[[], None]]) -> None:
        self._fenter = fenter
        self._fexit: Callable[[], None] | None = None

    def __enter__(self) -> None:
        self._fexit = self._fenter()

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        if self._fexit is not None:
            self._fexit()
            self._fexit = None


class Analyzer:
    """Simplifies, bounds and compares integer expressions with what it was told about their variables."""

    def __init__(self) -> None:
        method = _ffi_api.CreateAnalyzer()
        self._const_int_bound = method("const_int_bound")
        self._const_int_bound_update = method("const_int_bound_update")
        self._bind = method("bind")
        self._modular_set = method("modular_set")
        self._simplify = method("Simplify")
        self._rewrite_simplify = method("rewrite_simplify")
        self._canonical_simplify = method("canonical_simplify")
        self._int_set = method("int_set")
        self._enter_constraint_context = method("enter_constraint_context")
        self._can_prove = method("can_prove")
        self._can_prove_equal = method("can_prove_equal")

    def const_int_bound(self, expr: PrimExpr) -> ConstIntBound:
        """Constant bounds of `expr`."""
        return self._const_int_bound(expr)

    def modular_set(self, expr: PrimExpr) -> ModularSet:
        """The remainder class of `expr`."""
        return self._modular_set(expr)

    def simplify(self, expr: PrimExpr, steps: int = 2) -> PrimExpr:
        """An equal expression that is simpler; rewriting and canonical form in turn, `steps` in all."""
        return self._simplify(expr, steps)

    def rewrite_simplify(self, expr: PrimExpr) -> PrimExpr:
        """Simplification by rules."""
        return self._rewrite_simplify(expr)

    def canonical_simplify(self, expr: PrimExpr) -> PrimExpr:
        """Simplification by normal form of sums."""
        return self._canonical_simplify(expr)

    def int_set(self, expr: PrimExpr, dom_map: dict[Var, IntSet]) -> IntSet:
        """A set that holds every value of `expr` when the variables of `dom_map` range over their sets."""
        return self._int_set(expr, dom_map)

    def can_prove(self, expr: PrimExpr) -> bool:
        """True when the condition holds wherever what is known holds."""
        return bool(self._can_prove(expr))

    def bind(self, var: Var, expr: PrimExpr | Range) -> None:
        """`var` equals `expr`, or lies in it."""
        self._bind(var, expr)

    def constraint_scope(self, constraint: PrimExpr) -> ConstraintScope:
        """``with analyzer.constraint_scope(x > 0): ...`` takes the condition for true inside."""
        return ConstraintScope(lambda: self._enter_constraint_context(constraint))

    def update(self, var: Var, info: ConstIntBound, override: bool = False) -> None:
        """Adds the bounds of a variable; replaces what is known when `override` is set."""
        if not isinstance(info, ConstIntBound):
            raise TypeError(f"info is a {type(info).__name__}; only ConstIntBound can be put into an analyzer")
        self._const_int_bound_update(var, info, override)

    def can_prove_equal(self, lhs: PrimExpr, rhs: PrimExpr) -> bool:
        """True when both sides are equal wherever what is known holds."""
        return bool(self._can_prove_equal(lhs, rhs))
