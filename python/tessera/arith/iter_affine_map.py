"""Index expressions as maps between iteration spaces."""

from __future__ import annotations

from enum import IntEnum

from .._ffi.registry import register_object
from ..ir import PrimExpr, Range
from ..runtime.object import Object
from ..tir import Var
from . import _ffi_api


class IterMapLevel(IntEnum):
    """What is asked of a map: one to one, onto, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str | None) -> IterMapLevel:
        """The level called `name`, in any case; Surjective for None."""
        if name is None:
            return IterMapLevel.Surjective
        for level in IterMapLevel:
            if level.name.lower() == name.lower():
                return level
        raise ValueError(f"no iter map level {name!r}; there are {[level.name for level in IterMapLevel]}")


@register_object("arith.IterMapExpr")
class IterMapExpr(PrimExpr):
    """A digit of an iterator, or a sum of them."""


@register_object("arith.IterMark")
class IterMark(Object):
    """An iterator of [0, extent): a variable, or a sum of others taken as one."""

    def __init__(self, source: PrimExpr, extent: PrimExpr) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IterMark, source, extent)


@register_object("arith.IterSplitExpr")
class IterSplitExpr(IterMapExpr):
    """The digit source // lower_factor % extent * scale."""

    def __init__(self, source: IterMark, lower_factor: PrimExpr, extent: PrimExpr, scale: PrimExpr) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IterSplitExpr, source, lower_factor, extent, scale)


@register_object("arith.IterSumExpr")
class IterSumExpr(IterMapExpr):
    """The sum of digits and a constant."""

    def __init__(self, args: list[IterSplitExpr], base: PrimExpr) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IterSumExpr, args, base)


@register_object("arith.IterMapResult")
class IterMapResult(Object):
    """The sums that indices are, or the errors that say why they are none."""


def detect_iter_map(
    indices: list[PrimExpr],
    input_iters: dict[Var, Range],
    predicate: PrimExpr | bool = True,
    check_level: IterMapLevel | str | int = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Writes each index as a sum of digits of the iterators."""
    return _ffi_api.DetectIterMap(indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators)


def normalize_iter_map_to_expr(expr: PrimExpr) -> PrimExpr:
    """The plain expression of a digit or a sum."""
    return _ffi_api.NormalizeIterMapToExpr(expr)


def iter_map_simplify(
    indices: list[PrimExpr],
    input_iters: dict[Var, Range],
    predicate: PrimExpr | bool = True,
    check_level: IterMapLevel | str | int = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """Indices simplified with the knowledge that iterators are digits."""
    return _ffi_api.IterMapSimplify(indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators)


def subspace_divide(
    bindings: list[PrimExpr],
    input_iters: dict[Var, Range],
    sub_iters: list[Var],
    predicate: PrimExpr | bool = True,
    check_level: IterMapLevel | str | int = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Divides each binding into outer * extent(inner) + inner, inner naming only `sub_iters`; [] when it cannot."""
    return _ffi_api.SubspaceDivide(
        bindings, input_iters, sub_iters, predicate, _level(check_level), simplify_trivial_iterators
    )


def inverse_affine_iter_map(iter_map: list[IterSumExpr], outputs: list[PrimExpr]) -> dict[Var, PrimExpr]:
    """The value of each input variable of a bijective map in terms of `outputs`."""
    return _ffi_api.InverseAffineIterMap(iter_map, outputs)


def _level(check_level: IterMapLevel | str | int) -> int:
    if isinstance(check_level, str) or check_level is None:
        return int(IterMapLevel.from_str(check_level))
    return int(check_level)
