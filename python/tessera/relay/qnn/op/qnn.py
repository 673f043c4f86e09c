"""Quantised operators; signatures are v0.10's."""

from __future__ import annotations

from ...expr import Call, Expr
from ...op._make import call_op

__all__ = ["dequantize", "quantize"]


def quantize(data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: str = "int8") -> Call:
    """Integers that stand for `data`: round(data / scale) + zero point, within the range of the type."""
    return call_op("qnn.quantize", [data, output_scale, output_zero_point], {"axis": axis, "out_dtype": out_dtype})


def dequantize(data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1) -> Call:
    """The real numbers that integers stand for: (data - zero point) * scale."""
    return call_op("qnn.dequantize", [data, input_scale, input_zero_point], {"axis": axis})
