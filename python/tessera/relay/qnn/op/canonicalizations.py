"""Functions of quantised tensors by a table of all their values."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ....ir import IRModule
from ....runtime import cpu
from ... import op as _op
from ...expr import const
from .qnn import dequantize, quantize

__all__ = ["create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr"]


def run_const_expr(expr: Any) -> np.ndarray:
    """The value of an expression without variables."""
    from ...build_module import create_executor  # which imports qnn

    return create_executor("vm", mod=IRModule.from_expr(expr), device=cpu(0), target="llvm").evaluate()().numpy()


def create_integer_lookup_table(
    floating_point_func: Callable[[Any], Any],
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> np.ndarray:
    """What a function of floats gives for each integer of a type, quantised: entry i is for the integer whose bits are i."""
    info = np.iinfo(in_dtype)
    if info.bits > 16:
        raise ValueError(f"a table of all values of {in_dtype} is too large")
    integers = np.arange(2**info.bits).astype(f"uint{info.bits}").view(in_dtype)
    real = dequantize(const(integers), input_scale, input_zero_point, axis=in_axis)
    result = quantize(floating_point_func(real), output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype)
    return run_const_expr(result)


def create_integer_lookup_op(
    input_arg: Any,
    floating_point_func: Callable[[Any], Any],
    in_scale: Any,
    in_zero_point: Any,
    out_scale: Any,
    out_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Any:
    """A function of floats on quantised integers, read from a table. Scales and zero points must be constants."""
    table = create_integer_lookup_table(
        floating_point_func, in_scale, in_zero_point, out_scale, out_zero_point, in_axis, out_axis, in_dtype, out_dtype
    )
    bits = np.iinfo(in_dtype).bits
    index = _op.reinterpret(input_arg, f"uint{bits}") if in_dtype.startswith("int") else input_arg
    return _op.take(const(table), _op.cast(index, "int32"), axis=0, mode="fast")
