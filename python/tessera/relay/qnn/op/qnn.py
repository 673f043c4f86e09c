"""Quantised operators; signatures are v0.10's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera.topi.nn.qnn import SQNN_DTYPE_TO_CODE

from ...expr import Call, Expr, Tuple, const
from ...op._make import call_op
from ...op.nn.conv import window_attrs
from ...op.transform import reshape
from .requantize_config import RequantizeConfig as RequantizeConfig
from .requantize_config import current_requantize_config as current_requantize_config
from .requantize_config import requantize_config as requantize_config

__all__ = [
    "abs",
    "add",
    "batch_matmul",
    "concatenate",
    "conv2d",
    "conv2d_transpose",
    "dense",
    "dequantize",
    "erf",
    "exp",
    "hardswish",
    "leaky_relu",
    "log",
    "mul",
    "quantize",
    "requantize",
    "rsqrt",
    "sigmoid",
    "simulated_dequantize",
    "simulated_quantize",
    "sqrt",
    "subtract",
    "tanh",
]


def quantize(data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: str = "int8") -> Call:
    """Integers that stand for `data`: round(data / scale) + zero point, within the range of the type."""
    return call_op("qnn.quantize", [data, output_scale, output_zero_point], {"axis": axis, "out_dtype": out_dtype})


def dequantize(data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1) -> Call:
    """The real numbers that integers stand for: (data - zero point) * scale."""
    return call_op("qnn.dequantize", [data, input_scale, input_zero_point], {"axis": axis})


def requantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> Call:
    """Integers of one scale and zero point as those of another."""
    args = [data, input_scale, input_zero_point, output_scale, output_zero_point]
    attrs = {"axis": axis, "rounding": rounding, "compute_dtype": compute_dtype, "out_dtype": out_dtype}
    return call_op("qnn.requantize", args, attrs)


def conv2d(
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_size: Any,
    channels: Any,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> Call:
    """Convolution of integers that stand for real numbers; sums are int32."""
    attrs = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "channels": channels,
        "kernel_size": kernel_size,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
        "out_dtype": out_dtype,
    }
    args = [data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return call_op("qnn.conv2d", args, window_attrs(2, attrs))


def conv2d_transpose(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Any = (0, 0),
    out_dtype: str = "int32",
) -> Call:
    """Transposed convolution of integers that stand for real numbers; sums are int32."""
    attrs = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "channels": channels,
        "kernel_size": kernel_size,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
        "output_padding": output_padding,
        "out_dtype": out_dtype,
    }
    args = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return call_op("qnn.conv2d_transpose", args, window_attrs(2, attrs))


def simulated_quantize(
    data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: str | Expr = "int8"
) -> Call:
    """What `quantize` gives, as floats. `out_dtype` may be a value: a code of `SQNN_DTYPE_TO_CODE` as int32."""
    args = [data, _type_code(out_dtype), reshape(output_scale, [-1]), reshape(output_zero_point, [-1])]
    return call_op("qnn.simulated_quantize", args, {"axis": axis})


def simulated_dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1, in_dtype: str | Expr = "int8"
) -> Call:
    """What `dequantize` gives, of integers that are floats; `in_dtype` as for :func:`simulated_quantize`."""
    args = [data, _type_code(in_dtype), reshape(input_scale, [-1]), reshape(input_zero_point, [-1])]
    return call_op("qnn.simulated_dequantize", args, {"axis": axis})


def _type_code(dtype: str | Expr) -> Expr:
    if isinstance(dtype, Expr):
        return dtype
    if dtype not in SQNN_DTYPE_TO_CODE:
        raise ValueError(f"{dtype} is not simulated; the types are {', '.join(SQNN_DTYPE_TO_CODE)}")
    return const(SQNN_DTYPE_TO_CODE[dtype], "int32")


def dense(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    units: Any,
    out_dtype: str = "int32",
) -> Call:
    """Linear layer of integers that stand for real numbers; sums are int32."""
    args = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return call_op("qnn.dense", args, {"units": units, "out_dtype": out_dtype})


def batch_matmul(
    x: Expr,
    y: Expr,
    x_zero_point: Expr,
    y_zero_point: Expr,
    x_scale: Expr,
    y_scale: Expr,
    out_dtype: str = "int32",
) -> Call:
    """Matmuls of the matrices of x with those of y, which are stored transposed; sums are int32."""
    args = [x, y, x_zero_point, y_zero_point, x_scale, y_scale]
    return call_op("qnn.batch_matmul", args, {"out_dtype": out_dtype, "transpose_a": False, "transpose_b": True})


def concatenate(
    data: Any, input_scales: Any, input_zero_points: Any, output_scale: Expr, output_zero_point: Expr, axis: int
) -> Call:
    """Parts side by side, each with a scale and zero point of its own."""
    parts = [
        value if isinstance(value, Expr) else Tuple(list(value)) for value in (data, input_scales, input_zero_points)
    ]
    return call_op("qnn.concatenate", [*parts, output_scale, output_zero_point], {"axis": axis})


def _binary(name: str, doc: str) -> Callable[..., Call]:
    def function(
        lhs: Expr,
        rhs: Expr,
        lhs_scale: Expr,
        lhs_zero_point: Expr,
        rhs_scale: Expr,
        rhs_zero_point: Expr,
        output_scale: Expr,
        output_zero_point: Expr,
        lhs_axis: int = -1,
        rhs_axis: int = -1,
    ) -> Call:
        affine = [lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point]
        return call_op(f"qnn.{name}", [lhs, rhs, *affine], {"lhs_axis": lhs_axis, "rhs_axis": rhs_axis})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _unary(name: str) -> Callable[..., Call]:
    def function(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call:
        return call_op(f"qnn.{name}", [x, scale, zero_point, output_scale, output_zero_point])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of what integers stand for."
    return function


add = _binary("add", "The sum of what integers stand for.")
subtract = _binary("subtract", "The difference of what integers stand for.")
mul = _binary("mul", "The product of what integers stand for.")
abs, erf, exp, hardswish, log, rsqrt, sigmoid, sqrt, tanh = (
    _unary(name) for name in ("abs", "erf", "exp", "hardswish", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
)


def leaky_relu(
    x: Expr, alpha: float, input_scale: Expr, input_zero_point: Expr, output_scale: Expr, output_zero_point: Expr
) -> Call:
    """What integers stand for where it is positive, and alpha times that elsewhere."""
    args = [x, input_scale, input_zero_point, output_scale, output_zero_point]
    return call_op("qnn.leaky_relu", args, {"alpha": alpha})
