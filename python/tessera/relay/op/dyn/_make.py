"""Calls of the operators under `dyn`."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr
from .._make import call_op


def reshape(data: Expr, newshape: Expr, allowzero: bool = False) -> Call:
    """reshape to a shape that is a tensor."""
    return call_op("dyn.reshape", [data, newshape], {"newshape": [], "allowzero": allowzero})


def tile(data: Expr, reps: Expr) -> Call:
    """tile by numbers that are a tensor."""
    return call_op("dyn.tile", [data, reps], {"reps": []})


def broadcast_to(data: Expr, shape: Expr) -> Call:
    """broadcast_to a shape that is a tensor."""
    return call_op("dyn.broadcast_to", [data, shape], {"shape": None, "dtype": ""})


def zeros(shape: Expr, dtype: str) -> Call:
    """Zeros of a shape that is a tensor."""
    return call_op("dyn.zeros", [shape], {"shape": None, "dtype": dtype})


def ones(shape: Expr, dtype: str) -> Call:
    """Ones of a shape that is a tensor."""
    return call_op("dyn.ones", [shape], {"shape": None, "dtype": dtype})


def full(fill_value: Any, shape: Expr, dtype: str = "") -> Call:
    """One value in a shape that is a tensor."""
    return call_op("dyn.full", [fill_value, shape], {"shape": None, "dtype": dtype})


def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: Expr, axis: int, dtype: str) -> Call:
    """one_hot with a depth that is a tensor."""
    args = [indices, on_value, off_value, depth]
    return call_op("dyn.one_hot", args, {"depth": -1, "axis": axis, "dtype": dtype})


def strided_slice(data: Expr, begin: Expr, end: Expr, strides: Expr, slice_mode: str = "end") -> Call:
    """strided_slice by bounds that are tensors."""
    attrs = {"begin": None, "end": None, "strides": None, "slice_mode": slice_mode, "axes": None}
    return call_op("dyn.strided_slice", [data, begin, end, strides], attrs)


def expand_dims(data: Expr, axis: Expr, num_newaxis: int = 1) -> Call:
    """expand_dims at an axis that is a tensor."""
    attrs = {"num_newaxis": num_newaxis}
    return call_op("dyn.expand_dims", [data, axis], attrs, "relay.attrs.DynExpandDimsAttrs")


def squeeze(data: Expr, axis: Expr) -> Call:
    """squeeze of dimensions that are a tensor."""
    return call_op("dyn.squeeze", [data, axis], {"axis": None})


def topk(data: Expr, k: Expr, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "") -> Call:
    """topk with a number that is a tensor."""
    attrs = {"k": None, "axis": axis, "ret_type": ret_type, "is_ascend": is_ascend, "dtype": dtype}
    return call_op("dyn.topk", [data, k], attrs)


def sparse_to_dense(sparse_indices: Expr, output_shape: Expr, sparse_values: Expr, default_value: Any) -> Call:
    """sparse_to_dense with a shape that is a tensor."""
    return call_op("dyn.sparse_to_dense", [sparse_indices, sparse_values, default_value, output_shape])
