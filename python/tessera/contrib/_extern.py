"""Tensors that functions of libraries compute: calls by name, found when the program runs."""

from __future__ import annotations

from typing import Any

from .. import te
from .._ffi.registry import get_global_func
from ..te import Tensor
from ..tir.op import call_packed

__all__ = ["batch_matmul", "is_registered", "library_call", "matmul"]


def is_registered(name: str) -> bool:
    """True when some library has registered the function."""
    return get_global_func(name, allow_missing=True) is not None


def library_call(
    name: str,
    shape: Any,
    inputs: list[Tensor],
    *extra: Any,
    dtype: Any = None,
    out_name: str = "C",
    before: Any = (),
    **kwargs: Any,
) -> Tensor:
    """The tensor that ``name(*before, *inputs, output, *extra)`` writes."""
    return te.extern(
        shape,
        inputs,
        lambda ins, outs: call_packed(name, *before, *ins, outs[0], *extra),
        dtype=dtype or inputs[0].dtype,
        name=out_name,
        **kwargs,
    )


def matmul(name: str, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, dtype: Any = None, **kwargs: Any) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed, by a function of a library."""
    shape = (lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1])
    return library_call(name, shape, [lhs, rhs], transa, transb, dtype=dtype, **kwargs)


def batch_matmul(
    name: str, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, dtype: Any = None, **kwargs: Any
) -> Tensor:
    """The matmuls of two batches of matrices."""
    shape = (lhs.shape[0], lhs.shape[2 if transa else 1], rhs.shape[1 if transb else 2])
    return library_call(name, shape, [lhs, rhs], transa, transb, dtype=dtype, **kwargs)
