"""Quantised operators as ones of integers."""

from __future__ import annotations

from typing import Any, Callable

from ... import op as _op
from ...analysis import free_vars
from ...expr import Constant, const
from ...op.op import register_legalize
from .canonicalizations import create_integer_lookup_op

__all__ = ["get_scalar_from_constant", "hardswish_func", "register_qnn_unary_op_legalize"]


def hardswish_func(x: Any) -> Any:
    """x * min(max(x + 3, 0), 6) / 6."""
    return x * _op.clip(x + const(3.0), 0.0, 6.0) / const(6.0)


def get_scalar_from_constant(expr: Any) -> Any:
    """The number of a constant without dimensions."""
    if not isinstance(expr, Constant) or expr.data.shape:
        raise ValueError("Expr is not a constant scalar.")
    value = expr.data.numpy()
    if value.dtype not in ("int32", "float32"):
        raise ValueError("value must be float32/int32")
    return value.item()


def register_qnn_unary_op_legalize(op_name: str, floating_point_func: Callable[[Any], Any]) -> Any:
    """Says that a quantised operator (data, scale, zero point, out scale, out zero point) is a table of a function."""

    def legalize(attrs: Any, inputs: Any, types: Any) -> Any:
        del attrs
        if any(free_vars(value) for value in inputs[1:]):
            return None  # known only at run time
        data, *quantization = inputs
        scale, zero_point, out_scale, out_zero_point = quantization
        ends = {"in_dtype": types[0].dtype, "out_dtype": types[-1].dtype}
        return create_integer_lookup_op(data, floating_point_func, scale, zero_point, out_scale, out_zero_point, **ends)

    return register_legalize(op_name, legalize)
