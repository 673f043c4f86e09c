"""Sets of integers with symbolic ends."""

from __future__ import annotations

from .._ffi.registry import register_object
from ..ir import PrimExpr, Range
from ..runtime.object import Object
from ..tir import Var
from . import _ffi_api


@register_object("arith.IntSet")
class IntSet(Object):
    """A set of integers."""

    def is_nothing(self) -> bool:
        """Whether the set is empty."""
        return bool(_ffi_api.IntSetIsNothing(self))

    def is_everything(self) -> bool:
        """Whether the set holds every integer."""
        return bool(_ffi_api.IntSetIsEverything(self))

    @staticmethod
    def vector(vec: PrimExpr) -> IntSet:
        """The values of the lanes of a vector."""
        return _ffi_api.intset_vector(vec)

    @staticmethod
    def single_point(point: PrimExpr) -> IntSet:
        """The set of one value."""
        return _ffi_api.intset_single_point(point)


@register_object("arith.IntervalSet")
class IntervalSet(IntSet):
    """The integers from min_value to max_value, both included."""

    def __init__(self, min_value: PrimExpr, max_value: PrimExpr) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IntervalSet, min_value, max_value)


def pos_inf() -> PrimExpr:
    """The end of an interval without upper end."""
    return _ffi_api.PosInf()


def neg_inf() -> PrimExpr:
    """The end of an interval without lower end."""
    return _ffi_api.NegInf()


def union_lower_bound(sets: list[IntSet]) -> IntSet:
    """The union of those sets that provably leave no hole."""
    return _ffi_api.UnionLowerBound(sets)


def estimate_region_lower_bound(
    region: list[Range], var_dom: dict[Var, Range], predicate: PrimExpr | bool = True
) -> list[IntSet] | None:
    """A box inside the union of `region` over all values of the variables; None when none can be told."""
    return _ffi_api.EstimateRegionLowerBound(region, var_dom, predicate)


def estimate_region_strict_bound(
    region: list[Range], var_dom: dict[Var, Range], predicate: PrimExpr | bool = True
) -> list[IntSet] | None:
    """The box that is exactly the union of `region`; None when it cannot be told."""
    return _ffi_api.EstimateRegionStrictBound(region, var_dom, predicate)


def estimate_region_upper_bound(
    region: list[Range], var_dom: dict[Var, Range], predicate: PrimExpr | bool = True
) -> list[IntSet]:
    """A box around the union of `region`."""
    return _ffi_api.EstimateRegionUpperBound(region, var_dom, predicate)
