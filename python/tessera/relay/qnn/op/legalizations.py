"""Quantised operators as ones of integers."""

from __future__ import annotations

from typing import Any, Callable

from tessera.target import Target
from tessera.topi.arm_cpu.arm_utils import is_aarch64_arm as _is_aarch64_arm
from tessera.topi.arm_cpu.arm_utils import is_dotprod_available
from tessera.topi.x86.utils import target_has_sse42

from ... import op as _op
from ...analysis import free_vars
from ...expr import Constant, const
from ...op.op import register_legalize
from . import qnn as _qnn
from .canonicalizations import create_integer_lookup_op

__all__ = [
    "get_scalar_from_constant",
    "hardswish_func",
    "helper_change_dtypes_to_be_same",
    "helper_change_dtypes_to_int8",
    "helper_change_dtypes_to_uint8_int8",
    "helper_no_fast_int8_hw_legalization",
    "is_aarch64_arm",
    "is_fast_int8_on_arm",
    "is_fast_int8_on_intel",
    "legalize_qnn_conv2d",
    "legalize_qnn_conv2d_transpose",
    "legalize_qnn_dense",
    "qnn_conv2d_legalize",
    "qnn_conv2d_transpose_legalize",
    "qnn_dense_legalize",
    "register_qnn_unary_op_legalize",
]


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


# ---- 8-bit layers in types that a target multiplies ----------------------------------------------------------------------


def _target() -> Any:
    return Target.current(allow_none=False)


def is_fast_int8_on_intel() -> bool:
    """True when the current target is an x86 CPU that multiplies uint8 by int8."""
    return target_has_sse42(_target().mcpu)


def is_fast_int8_on_arm() -> bool:
    """True when the current target is an ARM CPU with dot products of int8."""
    return "+v8.2a,+dotprod" in " ".join(_target().mattr or []) or is_dotprod_available()


def is_aarch64_arm() -> bool:
    """True when the current target is an ARM CPU of 64 bits."""
    return _is_aarch64_arm()


def _shifted(data: Any, zero_point: Any, dtype: str, to: str) -> tuple[Any, Any]:
    """Integers of eight bits as those of the other kind, and the zero point that they have then."""
    if dtype == to:
        return data, zero_point
    by = 128 if to == "uint8" else -128
    moved = _op.add(_op.cast(data, "int32"), const(by, "int32"))
    zero = _op.add(zero_point, const(by, "int32"))
    return _op.cast(moved, to), const(zero_point.data.numpy() + by, "int32") if isinstance(
        zero_point, Constant
    ) else zero


def _with_types(attrs: Any, inputs: Any, types: Any, relay_op: Callable[..., Any], data: str, kernel: str) -> Any:
    if (types[0].dtype, types[1].dtype) == (data, kernel):
        return None
    x, x_zero = _shifted(inputs[0], inputs[2], types[0].dtype, data)
    w, w_zero = _shifted(inputs[1], inputs[3], types[1].dtype, kernel)
    return relay_op(x, w, x_zero, w_zero, inputs[4], inputs[5], **{key: attrs[key] for key in list(attrs.keys())})


def helper_change_dtypes_to_uint8_int8(attrs: Any, inputs: Any, types: Any, relay_op: Callable[..., Any]) -> Any:
    """The layer on uint8 data and int8 weights, which x86 CPUs multiply; None where it is so already."""
    return _with_types(attrs, inputs, types, relay_op, "uint8", "int8")


def helper_change_dtypes_to_int8(attrs: Any, inputs: Any, types: Any, relay_op: Callable[..., Any]) -> Any:
    """The layer on int8 data and weights; None where it is so already."""
    return _with_types(attrs, inputs, types, relay_op, "int8", "int8")


def helper_change_dtypes_to_be_same(attrs: Any, inputs: Any, types: Any, relay_op: Callable[..., Any]) -> Any:
    """The layer on data of the type that its weights have; None where it is so already."""
    return _with_types(attrs, inputs, types, relay_op, types[1].dtype, types[1].dtype)


def helper_no_fast_int8_hw_legalization(attrs: Any, inputs: Any, types: Any, relay_op: Callable[..., Any]) -> Any:
    """The layer of int16 numbers above their zero points, by a plain operator."""
    values = []
    for value, zero_point in zip(inputs[:2], inputs[2:4], strict=True):
        wide = _op.cast(value, "int16")
        is_zero = isinstance(zero_point, Constant) and not zero_point.data.numpy().any()
        values.append(wide if is_zero else _op.subtract(wide, _op.cast(zero_point, "int16")))
    return relay_op(*values, **{key: attrs[key] for key in list(attrs.keys())})


def _legalize_layer(attrs: Any, inputs: Any, types: Any, qnn_op: Callable[..., Any], plain: Callable[..., Any]) -> Any:
    kind = _target().kind.name
    if is_fast_int8_on_intel():
        return helper_change_dtypes_to_uint8_int8(attrs, inputs, types, qnn_op)
    if is_fast_int8_on_arm():
        return helper_change_dtypes_to_be_same(attrs, inputs, types, qnn_op)
    if kind in ("cuda", "rocm", "hexagon"):
        return helper_change_dtypes_to_int8(attrs, inputs, types, qnn_op)
    return helper_no_fast_int8_hw_legalization(attrs, inputs, types, plain)


def qnn_conv2d_legalize(attrs: Any, inputs: Any, types: Any) -> Any:
    """qnn.conv2d for the current target; None where it stays as it is."""
    return _legalize_layer(attrs, inputs, types, _qnn.conv2d, _op.nn.conv2d)


def qnn_dense_legalize(attrs: Any, inputs: Any, types: Any) -> Any:
    """qnn.dense for the current target; None where it stays as it is."""
    return _legalize_layer(attrs, inputs, types, _qnn.dense, _op.nn.dense)


def qnn_conv2d_transpose_legalize(attrs: Any, inputs: Any, types: Any) -> Any:
    """qnn.conv2d_transpose as a plain one of int16 numbers above their zero points."""
    return helper_no_fast_int8_hw_legalization(attrs, inputs, types, _op.nn.conv2d_transpose)


def legalize_qnn_conv2d(attrs: Any, inputs: Any, types: Any) -> Any:
    """The rule for qnn.conv2d; replaced by those that targets register."""
    return qnn_conv2d_legalize(attrs, inputs, types)


def legalize_qnn_dense(attrs: Any, inputs: Any, types: Any) -> Any:
    """The rule for qnn.dense."""
    return qnn_dense_legalize(attrs, inputs, types)


def legalize_qnn_conv2d_transpose(attrs: Any, inputs: Any, types: Any) -> Any:
    """The rule for qnn.conv2d_transpose."""
    return qnn_conv2d_transpose_legalize(attrs, inputs, types)
