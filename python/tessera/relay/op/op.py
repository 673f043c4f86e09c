"""The operator table as Python fills it: slots of operators by their v0.10 names."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import get_global_func
from ...ir import Op, register_op_attr

__all__ = [
    "OpPattern",
    "get",
    "register",
    "register_alter_op_layout",
    "register_compute",
    "register_convert_op_layout",
    "register_external_compiler",
    "register_fake_quantization_to_integer",
    "register_gradient",
    "register_infer_correct_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_pattern",
    "register_shape_func",
    "register_stateful",
    "register_strategy",
]


class OpPattern:
    """How an operator may be fused with its neighbours; a larger number restricts more."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def get(op_name: str) -> Op:
    """The operator of that name."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> None:
    """Makes a new operator."""
    get_global_func("ir.RegisterOp")(op_name, describe)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Says whether calls do more than give their value."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Says how the operator may be fused, by a number of OpPattern."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_compute(op_name: str, compute: Any = None, level: int = 10) -> Any:
    """The tensors of a call: `compute(attrs, inputs, out_type)`; also a decorator."""
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """The implementations of a call: `fstrategy(attrs, inputs, out_type, target)`; also a decorator."""
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """The gradients of a call's arguments: `fgradient(call, gradient)`; also a decorator."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_shape_func(op_name: str, data_dependent: Any, shape_func: Any = None, level: int = 10) -> Any:
    """The shapes of the results: `shape_func(attrs, inputs, out_ndims)`; also a decorator.

    `data_dependent` says, for all inputs or for each, whether the function sees its values instead of its shape.
    """
    flags = data_dependent if isinstance(data_dependent, list) else [data_dependent]
    get(op_name).set_attr("TShapeDataDependent", [int(flag) for flag in flags], level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """What replaces a call where another layout is better: `f(attrs, inputs, tinfos, out_type)`; also a decorator."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """A call in desired layouts: `f(attrs, inputs, tinfos, desired_layouts)`; also a decorator."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """The layouts that fit together in a call; also a decorator."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """What replaces a call on the current target: `f(attrs, inputs, arg_types)`; also a decorator."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_external_compiler(op_name: str, fexternal: Any = None, level: int = 10) -> Any:
    """Whether an external compiler takes a call; also a decorator."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """A call on quantised values: `f(expr, type_map)`; also a decorator."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """What a call does in lower precision: `f(call, dtype)`; also a decorator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)
