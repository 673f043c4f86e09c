"""Reductions; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Expr, Tuple, TupleWrapper
from ._make import call_op
from .tensor import add, exp, log, sqrt, subtract
from .transform import squeeze

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "logsumexp",
    "max",
    "mean",
    "mean_std",
    "mean_variance",
    "min",
    "prod",
    "std",
    "sum",
    "variance",
]


def _reduce(name: str, data: Expr, axis: Any, keepdims: bool, exclude: bool, **more: Any) -> Call:
    axes = [axis] if isinstance(axis, int) else axis
    return call_op(name, [data], {"axis": axes, "keepdims": keepdims, "exclude": exclude, **more})


def argmax(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False
) -> Call:
    """Where the greatest element over the axes is; among equals the first, or the last."""
    return _reduce("argmax", data, axis, keepdims, exclude, select_last_index=select_last_index)


def argmin(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False
) -> Call:
    """Where the least element over the axes is; among equals the first, or the last."""
    return _reduce("argmin", data, axis, keepdims, exclude, select_last_index=select_last_index)


def sum(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """The sum over the axes."""
    return _reduce("sum", data, axis, keepdims, exclude)


def all(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """True where all elements over the axes are."""
    return _reduce("all", data, axis, keepdims, exclude)


def any(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """True where one element over the axes is."""
    return _reduce("any", data, axis, keepdims, exclude)


def max(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """The greatest element over the axes."""
    return _reduce("max", data, axis, keepdims, exclude)


def min(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """The least element over the axes."""
    return _reduce("min", data, axis, keepdims, exclude)


def prod(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """The product over the axes."""
    return _reduce("prod", data, axis, keepdims, exclude)


def mean(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
    """The mean over the axes."""
    return _reduce("mean", data, axis, keepdims, exclude)


def variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Call:
    """The variance over the axes; `unbiased` divides by one less than the count."""
    center = with_mean if with_mean is not None else mean(data, axis, True, exclude)
    return _variance(data, center, axis, keepdims, exclude, unbiased)


def _variance(data: Expr, center: Expr, axis: Any, keepdims: bool, exclude: bool, unbiased: bool) -> Call:
    axes = [axis] if isinstance(axis, int) else axis
    attrs = {"axis": axes, "keepdims": keepdims, "exclude": exclude, "unbiased": unbiased}
    return call_op("variance", [data, center], attrs)


def std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Call:
    """The square root of the variance."""
    return sqrt(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Both, the mean with its dimensions as `keepdims` says."""
    center = mean(data, axis, True, exclude)
    spread = _variance(data, center, axis, keepdims, exclude, unbiased)
    given = center if keepdims else mean(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((given, spread)), 2)


def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the square root of the variance."""
    center = mean(data, axis, True, exclude)
    spread = sqrt(_variance(data, center, axis, keepdims, exclude, False))
    given = center if keepdims else mean(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((given, spread)), 2)


def logsumexp(data: Expr, axis: Any = None, keepdims: bool = False) -> Call:
    """The logarithm of the sum of exponentials over the axes, safe from overflow."""
    axes = [axis] if isinstance(axis, int) else axis
    greatest = max(data, axes, True)
    out = add(log(sum(exp(subtract(data, greatest)), axes, True)), greatest)
    return out if keepdims else squeeze(out, axes)
