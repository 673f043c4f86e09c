"""Sorting and searching; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Expr, TupleWrapper
from . import dyn
from ._arguments import is_dynamic, number_or_tensor
from ._make import call_op

__all__ = ["argsort", "searchsorted", "sort", "topk"]


def sort(data: Expr, axis: int = -1, is_ascend: bool | int = 1) -> Call:
    """The elements along `axis` in order."""
    return call_op("sort", [data], {"axis": axis, "is_ascend": bool(is_ascend)})


def argsort(data: Expr, axis: int = -1, is_ascend: bool | int = 1, dtype: str = "int32") -> Call:
    """Indices that sort the elements along `axis`; equal ones keep their order."""
    return call_op("argsort", [data], {"axis": axis, "is_ascend": bool(is_ascend), "dtype": dtype})


def topk(
    data: Expr, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Any:
    """The first k elements along `axis` in falling (or rising) order: their values, their indices, or both."""
    k = number_or_tensor(k)
    if is_dynamic(k):
        out = dyn._make.topk(data, k, axis, ret_type, is_ascend, dtype)
    else:
        attrs = {"k": int(k), "axis": axis, "ret_type": ret_type, "is_ascend": bool(is_ascend), "dtype": dtype}
        out = call_op("topk", [data], attrs)
    return TupleWrapper(out, 2) if ret_type == "both" else out


def searchsorted(sorted_sequence: Expr, values: Expr, right: bool = False, dtype: str = "int32") -> Call:
    """Where values belong in a sorted sequence, before equal elements or (`right`) after them."""
    return call_op("searchsorted", [sorted_sequence, values], {"right": right, "dtype": dtype})
