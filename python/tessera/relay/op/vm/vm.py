"""Operators that a virtual machine runs as they are; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ....ir import DictAttrs
from ...expr import Call, Expr
from .._arguments import as_list
from .._make import call_op

__all__ = ["invoke_tvm_op", "reshape_tensor", "shape_of"]


def shape_of(expr: Expr) -> Call:
    """The extents of a tensor at run time."""
    return call_op("vm.shape_of", [expr], {"dtype": "int64"})


def invoke_tvm_op(func: Expr, inputs: Expr, outputs: Expr, attrs: DictAttrs | None = None) -> Call:
    """Calls a compiled function, which writes its results into tensors that are given."""
    from ....ir import Op

    return Call(Op.get("vm.invoke_tvm_op"), [func, inputs, outputs], attrs)


def reshape_tensor(data: Expr, shape: Expr, newshape: Any) -> Call:
    """The same memory under another shape."""
    return call_op("vm.reshape_tensor", [data, shape], {"newshape": as_list(newshape)})
