"""Models cut for CUTLASS: matmuls and convolutions of fp16, fp32 and int8 with what follows them."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule
from ... import transform
from ...dataflow_pattern import is_constant, is_op, wildcard
from ._partition import bound, partition
from .register import get_pattern_table, register_pattern_table

__all__ = [
    "check_batch_matmul",
    "check_conv2d",
    "check_dtype",
    "check_gemm",
    "get_root_call",
    "is_depthwise_conv2d",
    "make_batch_matmul_pattern",
    "make_conv2d_pattern",
    "make_gelu_pattern",
    "make_gemm_pattern",
    "make_residual_block_pattern",
    "partition_for_cutlass",
    "pattern_table",
]


def make_gelu_pattern(bias_out: Any, out_dtype: str = "float16") -> Any:
    """x * (0.5 + 0.5 * erf(x / sqrt(2))), as frameworks write it."""
    scaled = is_op("multiply")(bias_out, is_constant() | wildcard())
    is_narrow = out_dtype == "float16"  # computed in float32
    erf = is_op("cast")(is_op("erf")(is_op("cast")(scaled))) if is_narrow else is_op("erf")(scaled)
    half = is_op("multiply")(erf, is_constant() | wildcard())
    return is_op("multiply")(is_op("add")(is_constant() | wildcard(), half), bias_out)


def _activated(out: Any, with_act: str | None, out_dtype: str) -> Any:
    if with_act is None:
        return out
    if with_act == "relu":
        return is_op("nn.relu")(out)
    if with_act == "gelu":
        return make_gelu_pattern(out, out_dtype)
    if with_act == "sigmoid":
        return is_op("sigmoid")(out)
    if with_act == "silu":
        return is_op("multiply")(out, is_op("sigmoid")(out))
    if with_act == "hardswish":
        clipped = is_op("clip")(is_op("add")(out, is_constant()))
        return is_op("multiply")(is_op("divide")(clipped, is_constant()), out)
    raise ValueError(f"Unknown activation {with_act}.")


def make_gemm_pattern(with_bias: bool = True, with_act: str | None = None, out_dtype: str = "float16") -> Any:
    """A linear layer, with a bias and an activation."""
    gemm = is_op("nn.dense")(wildcard(), wildcard())
    out = is_op("add")(gemm, wildcard()) | is_op("nn.bias_add")(gemm, wildcard()) if with_bias else gemm
    return _activated(out, with_act, out_dtype)


def make_batch_matmul_pattern() -> Any:
    """A batch of matmuls."""
    return is_op("nn.batch_matmul")(wildcard(), wildcard())


def make_conv2d_pattern(with_bias: bool = False, with_act: str | None = None) -> Any:
    """A convolution, with a bias and an activation."""
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    out = is_op("add")(conv, wildcard()) | is_op("nn.bias_add")(conv, wildcard()) if with_bias else conv
    return _activated(out, with_act, "float16")


def make_residual_block_pattern(tensor_op_out: Any, binary_op: str = "add", with_act: str = "relu") -> Any:
    """A layer combined with another tensor, and an activation."""
    residual = wildcard()
    out = is_op(binary_op)(tensor_op_out, residual) | is_op(binary_op)(residual, tensor_op_out)
    return is_op("nn.relu")(out) if with_act == "relu" else out


def check_dtype(lhs: Any, rhs: Any) -> bool:
    """True for two tensors of fp16, of fp32, or of int8."""
    kinds = (lhs.dtype, rhs.dtype)
    return kinds in {("float16", "float16"), ("float32", "float32"), ("int8", "int8"), ("uint8", "int8")}


def get_root_call(call: Any, root_op_name: str) -> Any:
    """The call of an operator that a match begins with."""
    if str(getattr(call.op, "name", "")) == root_op_name:
        return call
    for arg in call.args:
        if hasattr(arg, "op"):
            found = get_root_call(arg, root_op_name)
            if found is not None:
                return found
    return None


def check_gemm(call: Any) -> bool:
    """True when a linear layer may be taken."""
    dense = get_root_call(call, "nn.dense")
    return dense is not None and check_dtype(dense.args[0].checked_type, dense.args[1].checked_type)


def check_batch_matmul(call: Any) -> bool:
    """True when a batch of matmuls may be taken: the right operand stored transposed."""
    matmul = get_root_call(call, "nn.batch_matmul")
    return (
        check_dtype(matmul.args[0].checked_type, matmul.args[1].checked_type)
        and not matmul.attrs.transpose_a
        and bool(matmul.attrs.transpose_b)
    )


def is_depthwise_conv2d(ic: int, oc: int, groups: int) -> bool:
    """True for a convolution channel by channel."""
    return ic == oc == groups


def check_conv2d(call: Any) -> bool:
    """True when a convolution may be taken: channels last, and one group or as many as channels."""
    conv = get_root_call(call, "nn.conv2d")
    if conv is None or str(conv.attrs.data_layout) != "NHWC" or str(conv.attrs.kernel_layout) != "OHWI":
        return False
    data, weight = (arg.checked_type for arg in conv.args)
    groups = int(conv.attrs.groups)
    try:
        depthwise = is_depthwise_conv2d(int(data.shape[3]), int(weight.shape[0]), groups)
    except (TypeError, ValueError):
        return False
    return check_dtype(data, weight) and (groups == 1 or depthwise)


@register_pattern_table("cutlass")
def pattern_table() -> list[tuple]:
    """(name, pattern, check) of what CUTLASS takes; longer patterns come first."""
    table: list[tuple] = []
    for act in ("relu", "gelu"):
        for out_dtype in ("float16", "float32"):
            name = f"cutlass.dense_bias_{act}_{'fp16' if out_dtype == 'float16' else 'fp32'}"
            table.append((name, make_gemm_pattern(True, act, out_dtype), check_gemm))
    table.append(("cutlass.dense_bias", make_gemm_pattern(True), check_gemm))
    table.append(("cutlass.dense", make_gemm_pattern(False), check_gemm))
    for act in ("relu", "sigmoid", "silu", "hardswish"):
        table.append((f"cutlass.conv2d_bias_{act}", make_conv2d_pattern(True, act), check_conv2d))
    residual = make_residual_block_pattern(make_conv2d_pattern(True))
    return [
        ("cutlass.conv2d_bias_residual_add_relu", residual, check_conv2d),
        *table,
        ("cutlass.conv2d_bias", make_conv2d_pattern(True), check_conv2d),
        ("cutlass.conv2d", make_conv2d_pattern(), check_conv2d),
        ("cutlass.batch_matmul", make_batch_matmul_pattern(), check_batch_matmul),
    ]


def partition_for_cutlass(mod: IRModule, params: Any = None) -> IRModule:
    """The module with what CUTLASS takes in functions of their own."""
    before = [
        transform.SimplifyInference(),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.FoldConstant(),
    ]
    table = get_pattern_table("cutlass")
    return partition(bound(mod, params), "cutlass", table, before, include_non_call_ops=False)
