"""Systems of linear equations and inequalities over the integers."""

from __future__ import annotations

from .._ffi.registry import register_object
from ..ir import PrimExpr, Range
from ..runtime.object import Object
from ..tir import Var
from . import _ffi_api


@register_object("arith.IntGroupBounds")
class IntGroupBounds(Object):
    """Bounds on coef * variable: at least `lower`, at most `upper`, equal to `equal`."""

    def __init__(self, coef: PrimExpr, lower: list[PrimExpr], equal: list[PrimExpr], upper: list[PrimExpr]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IntGroupBounds, coef, lower, equal, upper)

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """The bounds of a range."""
        return _ffi_api.IntGroupBounds_from_range(rng)

    def find_best_range(self, ranges: dict[Var, Range] | None = None) -> Range | None:
        """The tightest range of the variable; None when an end is missing."""
        return _ffi_api.IntGroupBounds_FindBestRange(self, ranges or {})


@register_object("arith.IntConstraints")
class IntConstraints(Object):
    """Points of `variables` inside `ranges` where all `relations` hold."""

    def __init__(self, variables: list[Var], ranges: dict[Var, Range], relations: list[PrimExpr]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IntConstraints, variables, ranges, relations)


@register_object("arith.IntConstraintsTransform")
class IntConstraintsTransform(Object):
    """Two systems and the maps between their solutions."""

    def __init__(
        self,
        src: IntConstraints,
        dst: IntConstraints,
        src_to_dst: dict[Var, PrimExpr],
        dst_to_src: dict[Var, PrimExpr],
    ) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IntConstraintsTransform, src, dst, src_to_dst, dst_to_src)


def solve_linear_equations(
    equations: list[PrimExpr] | IntConstraints,
    variables: list[Var] | None = None,
    ranges: dict[Var, Range] | None = None,
) -> IntConstraintsTransform:
    """Writes the variables in terms of fewer, free ones."""
    if isinstance(equations, IntConstraints):
        return _ffi_api.SolveLinearEquations(equations)
    return _ffi_api.SolveLinearEquations(variables, ranges, equations)


def solve_linear_inequalities(
    equations: list[PrimExpr] | IntConstraints,
    variables: list[Var] | None = None,
    ranges: dict[Var, Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """The range of each variable in terms of those after it; with `deskew_range` ranges that start at zero."""
    solve = _ffi_api.SolveInequalitiesDeskewRange if deskew_range else _ffi_api.SolveInequalitiesToRange
    return solve(equations) if isinstance(equations, IntConstraints) else solve(variables, ranges, equations)
