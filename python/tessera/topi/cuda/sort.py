"""Sorting by the signatures of v0.10's kernels for GPUs; where Thrust is named, the same functions serve."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .. import search, transform

__all__ = [
    "argsort",
    "argsort_thrust",
    "sort",
    "sort_by_key",
    "sort_thrust",
    "stable_sort_by_key_thrust",
    "topk",
    "topk_thrust",
]


def sort(data: Tensor, axis: int = -1, is_ascend: bool | int = 1) -> Tensor:
    """The elements along `axis` in order."""
    return search.sort(data, axis, is_ascend)


def argsort(
    data: Tensor, axis: int = -1, is_ascend: bool | int = 1, dtype: str = "float32", ret_type: str = "indices"
) -> Any:
    """The indices that sort the elements along `axis`; with `ret_type` "both" the sorted elements before them."""
    indices = search.argsort(data, None, axis, is_ascend, dtype)
    return indices if ret_type == "indices" else [search.sort(data, axis, is_ascend), indices]


def sort_by_key(keys: Tensor, values: Tensor, axis: int = -1, is_ascend: bool | int = 1) -> list[Tensor]:
    """Keys in order along `axis`, and values in the order of their keys; those of equal keys stay as they were."""
    axis = axis + len(keys.shape) if axis < 0 else axis
    order = search.argsort(keys, None, axis, is_ascend, "int32")
    return [transform.gather(keys, axis, order), transform.gather(values, axis, order)]


def stable_sort_by_key_thrust(keys: Tensor, values: Tensor, for_scatter: bool = False) -> list[Tensor]:
    """`sort_by_key` of vectors; `for_scatter`, negative keys are indices from the end of the keys."""
    if for_scatter:
        count = keys.shape[0]
        signed = keys
        keys = te.compute(
            keys.shape, lambda i: tir.if_then_else(signed[i] < 0, signed[i] + count.astype(signed.dtype), signed[i])
        )
    return sort_by_key(keys, values, 0)


def topk(
    data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """The first k elements along `axis` in falling (or rising) order: values, indices, or both."""
    return search.topk(data, k, axis, ret_type, is_ascend, dtype)


sort_thrust, argsort_thrust, topk_thrust = sort, argsort, topk
