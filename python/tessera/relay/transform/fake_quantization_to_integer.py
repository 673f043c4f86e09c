"""Rules of FakeQuantizationToInteger: an operator between dequantize and quantize as one of integers.

A rule takes a call and a map from expressions to `TensorAffineType`, and gives the integer expression and its type. The rules of
built-in operators are part of their records; they can be called here by name (`conv2d`, `relu`).
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...ir import IRModule, Op, TensorAffineType, structural_equal
from ..expr import Constant, const
from ..op.op import register_fake_quantization_to_integer
from .transform import FoldConstantExpr, InferTypeLocal

__all__ = [
    "approx_equal",
    "fold_constant",
    "get_binary_types",
    "get_zeros",
    "infer_shape",
    "register_binary_identity",
    "register_binary_qnn",
    "register_fake_quantization_to_integer",
    "register_unary_identity",
    "register_unary_qnn",
]

_SLOT = "FTVMFakeQuantizationToInteger"
_BUILT_IN = {
    "adaptive_avgpool1d": "nn.adaptive_avg_pool1d",
    "avgpool2d": "nn.avg_pool2d",
    "batch_matmul": "nn.batch_matmul",
    "bias_add": "nn.bias_add",
    "broadcast_to": "broadcast_to",
    "clip": "clip",
    "concat": "concatenate",
    "conv2d": "nn.conv2d",
    "conv2d_transpose": "nn.conv2d_transpose",
    "dense": "nn.dense",
    "dequantize": "qnn.dequantize",
    "global_avgpool2d": "nn.global_avg_pool2d",
    "leaky_relu": "nn.leaky_relu",
    "mean": "mean",
    "pad": "nn.pad",
    "quantize": "qnn.quantize",
    "relu": "nn.relu",
    "split": "split",
    "topk": "topk",
}


def __getattr__(name: str) -> Any:
    """The rule of a built-in operator."""
    operator = _BUILT_IN.get(name)
    if operator is not None and Op.get(operator).has_attr(_SLOT):
        return Op.get(operator).get_attr(_SLOT)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fold_constant(expr: Any) -> Any:
    """An expression with its constant parts computed."""
    return FoldConstantExpr(expr, IRModule())


def get_zeros(scale: Any) -> Any:
    """int32 zeros of the shape of a scale."""
    kind = InferTypeLocal(scale)
    return fold_constant(const(np.zeros([int(extent) for extent in kind.shape], "int32")))


def infer_shape(expr: Any) -> Any:
    """The shape of an expression."""
    return InferTypeLocal(expr).shape


def approx_equal(x: Any, y: Any) -> bool:
    """True when two expressions are equal constants, nearly, or the same expression."""
    x, y = fold_constant(x), fold_constant(y)
    if isinstance(x, Constant) and isinstance(y, Constant):
        return bool(np.all(np.isclose(x.data.numpy(), y.data.numpy())))
    return structural_equal(x, y)


def register_unary_identity(op_name: str) -> Callable:
    """An operator of one tensor whose integers it leaves or moves."""

    def identity(expr: Any, type_map: Any) -> list[Any]:
        return [expr, type_map[expr.args[0]]]

    return register_fake_quantization_to_integer(op_name, identity)


def register_binary_identity(op_name: str, op: Callable) -> Callable:
    """An operator of two tensors for which both must have one scale; `op` computes it on integers."""
    from .. import qnn

    def binary(expr: Any, type_map: Any) -> list[Any]:
        left, right = expr.args
        left_type, right_type = type_map[left], type_map[right]
        wanted = type_map.get(expr, left_type)

        def fit(arg: Any, kind: TensorAffineType) -> Any:
            if approx_equal(kind.scale, wanted.scale) and approx_equal(kind.zero_point, wanted.zero_point):
                return arg
            return qnn.op.requantize(
                arg,
                kind.scale,
                kind.zero_point,
                wanted.scale,
                wanted.zero_point,
                out_dtype=wanted.dtype,
                axis=wanted.axis,
            )

        return [op(fit(left, left_type), fit(right, right_type)), wanted]

    return register_fake_quantization_to_integer(op_name, binary)


def register_unary_qnn(op_name: str, op: Callable) -> Callable:
    """An operator that has a form in `relay.qnn`: op(data, scale, zero point, out scale, out zero point)."""

    def unary(expr: Any, type_map: Any) -> list[Any]:
        arg = expr.args[0]
        kind, out = type_map[arg], type_map[expr]
        return [op(arg, kind.scale, kind.zero_point, out.scale, out.zero_point), out]

    return register_fake_quantization_to_integer(op_name, unary)


def get_binary_types(expr: Any, type_map: Any) -> tuple[Any, Any]:
    """The types of two operands; a constant that has none gets that of the other, whose scale and zero point it takes."""
    left, right = (type_map.get(arg, None) for arg in expr.args)
    if left is None and right is None:
        raise ValueError("one of the operands must be quantised")
    return left or right, right or left


def register_binary_qnn(op_name: str, op: Callable) -> Callable:
    """An operator that has a form in `relay.qnn`: op(left, right, left type, right type, out type) of quantised operands."""

    def binary(expr: Any, type_map: Any) -> list[Any]:
        left, right = expr.args
        left_kind, right_kind = get_binary_types(expr, type_map)
        out = type_map[expr]
        if left_kind.axis != right_kind.axis and len(left_kind.scale.data.shape) and len(right_kind.scale.data.shape):
            raise ValueError(f"{op_name}: the operands have scales along different axes")
        return [op(left, right, left_kind, right_kind, out), out]

    return register_fake_quantization_to_integer(op_name, binary)
