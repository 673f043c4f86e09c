"""Scans by the signatures of v0.10's kernels for GPUs."""

from __future__ import annotations

from typing import Any, Callable

from ... import te, tir
from ...te import Tensor
from .. import search

__all__ = ["cumprod", "cumsum", "exclusive_scan", "inclusive_scan", "scan_thrust", "scanop"]

Binary = Callable[[Any, Any], Any]


def scanop(
    data: Tensor,
    binop: Binary,
    identity_value: Any,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The scan of a binary operation along `axis`, or over the flattened tensor."""
    return search.scanop(data, binop, identity_value, "scanop", axis, dtype, exclusive)


def _reduction(data: Tensor, scanned: Tensor, axis: int, dtype: str, binop: Binary) -> Tensor:
    """The whole of each line: the last exclusive result and the last element."""
    last = data.shape[axis] - 1
    shape = [extent for i, extent in enumerate(data.shape) if i != axis]

    def line(*rest: Any) -> Any:
        at = [*rest[:axis], last, *rest[axis:]]
        return binop(scanned(*at), data(*at).astype(dtype))

    return te.compute(shape, line, name="ex_scan_reduction")


def exclusive_scan(
    data: Tensor,
    axis: int = -1,
    return_reduction: bool = False,
    output_dtype: str | None = None,
    binop: Binary = tir.generic.add,
    identity_value: Any = 0,
) -> Any:
    """What lies before each element along `axis`, combined; with `return_reduction` also each whole line."""
    axis, dtype = axis % len(data.shape), output_dtype or data.dtype
    out = search.scanop(data, binop, identity_value, "exclusive_scan", axis, dtype, True)
    return (out, _reduction(data, out, axis, dtype, binop)) if return_reduction else out


def inclusive_scan(
    data: Tensor,
    axis: int = -1,
    output_dtype: str | None = None,
    binop: Binary = tir.generic.add,
    identity_value: Any = 0,
) -> Tensor:
    """Each element combined with those before it along `axis`."""
    dtype = output_dtype or data.dtype
    return search.scanop(data, binop, identity_value, "inclusive_scan", axis % len(data.shape), dtype, False)


def scan_thrust(
    data: Tensor,
    output_dtype: str,
    exclusive: bool = True,
    return_reduction: bool = False,
    binop: Binary = tir.generic.add,
) -> Any:
    """A scan along the last axis; the identity is that of addition."""
    if exclusive:
        return exclusive_scan(data, -1, return_reduction, output_dtype, binop)
    return inclusive_scan(data, -1, output_dtype, binop)


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """Cumulative sums along `axis`, or of the flattened tensor."""
    return search.scanop(data, tir.generic.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """Cumulative products along `axis`, or of the flattened tensor."""
    return search.scanop(data, tir.generic.multiply, 1, "cumprod", axis, dtype, exclusive)
