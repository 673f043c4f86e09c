"""Operators: finding them, filling their slots, and the implementations that a strategy offers."""

from __future__ import annotations

from typing import Any, Callable

from ..._ffi.registry import get_global_func, register_func, register_object
from ...ir.op import Op, register_op_attr
from ...runtime.object import Object
from ...target.generic_func import GenericFunc
from ...te.schedule import Schedule

__all__ = [
    "Op",
    "OpImplementation",
    "OpPattern",
    "OpSpecialization",
    "OpStrategy",
    "debug",
    "get",
    "register",
    "register_alter_op_layout",
    "register_broadcast_schedule",
    "register_compute",
    "register_convert_op_layout",
    "register_external_compiler",
    "register_fake_quantization_to_integer",
    "register_gradient",
    "register_infer_correct_layout",
    "register_injective_schedule",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_pattern",
    "register_reduce_schedule",
    "register_schedule",
    "register_shape_func",
    "register_stateful",
    "register_strategy",
]


def get(op_name: str) -> Op:
    """The operator of that name."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> None:
    """Makes an operator; one that exists already is an error."""
    get_global_func("ir.RegisterOp")(op_name, describe)


class OpPattern:
    """How an operator may be fused with its neighbours."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


class ElementMoves:
    """The slot TElementMoves: how elements of the first argument reach the result of an operator that computes nothing."""

    NONE = 0
    VIEW = 1
    PERMUTE = 2
    SLICE = 3
    REPEAT = 4
    GATHER = 5
    EXTREMUM = 6


class Reduction:
    """The slot TReduction: what an operator makes of all elements along axes."""

    NONE = 0
    SUM = 1
    PRODUCT = 2
    MAX = 3
    MIN = 4
    MEAN = 5
    VARIANCE = 6


@register_object("relay.OpImplementation")
class OpImplementation(Object):
    """One way to compute an operator: tensors from tensors, and perhaps a schedule of its own."""

    def compute(self, attrs: Any, inputs: Any, out_type: Any) -> Any:
        """The tensors of a call."""
        return get_global_func("relay.op._OpImplementationCompute")(self, attrs, inputs, out_type)

    def schedule(self, attrs: Any, outs: Any, target: Any) -> Schedule:
        """The schedule of tensors made by `compute`; a plain one for the target where there is none of its own."""
        own = get_global_func("relay.op._OpImplementationScheduleFunction")(self)
        if own is not None:
            return own(attrs, outs, target)
        return _default(outs, target)


def _default(outs: Any, target: Any) -> Schedule:
    from ...topi import generic

    with target:
        return generic.default_schedule_for(outs)


@register_object("relay.OpSpecialization")
class OpSpecialization(Object):
    """Implementations that hold under a condition."""


@register_object("relay.OpStrategy")
class OpStrategy(Object):
    """All implementations of an operator for one call."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(get_global_func("relay.op._make.OpStrategy"))

    def add_implementation(self, compute: Any, schedule: Any, name: str = "default", plevel: int = 10) -> None:
        """Adds an implementation, under the te.SpecializedCondition in force.

        compute(attrs, inputs, out_type) gives tensors; schedule(attrs, outs, target) a te.Schedule of the whole fused
        function. With None for the schedule, the compiler's own rule for the target is used.
        """
        get_global_func("relay.op._OpStrategyAddImplementation")(self, compute, schedule, name, plevel)


def register_compute(op_name: str, compute: Callable | None = None, level: int = 10) -> Any:
    """Says how a call becomes tensors: compute(attrs, inputs, out_type); also a decorator."""
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """Says what implementations there are: fstrategy(attrs, inputs, out_type, target) gives an OpStrategy.

    `fstrategy` is a generic function of targets or a plain one; also a decorator.
    """
    if fstrategy is None:
        return lambda function: register_strategy(op_name, function, level) or function
    if not isinstance(fstrategy, GenericFunc):
        fstrategy = getattr(fstrategy, "generic_func_node", fstrategy)
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_schedule(op_name: str, schedule: Any, level: int = 10) -> Any:
    """Says how calls of the operator are scheduled: schedule(attrs, outs, target), which may differ by target.

    The operator's compute is looked up when it is lowered.
    """

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        by_key = getattr(schedule, "dispatch_dict", {})
        key = next((str(key) for key in target.keys if str(key) in by_key), "generic")
        chosen = by_key.get(key, getattr(schedule, "fdefault", schedule))
        compute = Op.get(op_name).get_attr("FTVMCompute")
        if compute is None:
            raise ValueError(f"FTVMCompute is not registered for op {op_name}")
        name = getattr(schedule, "__name__", "schedule").removeprefix("schedule_")
        out = OpStrategy()
        out.add_implementation(compute, None if chosen in _OWN_RULES else chosen, name=f"{name}.{key}")
        return out

    return register_strategy(op_name, strategy, level)


def _injective(attrs: Any, outs: Any, target: Any) -> Schedule:
    """The schedule of element-wise and injective operators."""
    return _default(outs, target)


def _reduce(attrs: Any, outs: Any, target: Any) -> Schedule:
    """The schedule of reductions."""
    return _default(outs, target)


#: Schedules that say no more than the compiler's own rule, which is used instead.
_OWN_RULES = (_injective, _reduce)


def register_injective_schedule(op_name: str, level: int = 10) -> Any:
    """Calls of the operator are scheduled as element-wise ones are."""
    return register_schedule(op_name, _injective, level)


def register_broadcast_schedule(op_name: str, level: int = 10) -> Any:
    """Calls of the operator are scheduled as element-wise ones are."""
    return register_injective_schedule(op_name, level)


def register_reduce_schedule(op_name: str, level: int = 10) -> Any:
    """Calls of the operator are scheduled as reductions are."""
    return register_schedule(op_name, _reduce, level)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Says how calls may be fused (OpPattern)."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Says whether calls change or read something besides their arguments."""
    return register_op_attr(op_name, "TOpIsStateful", bool(stateful), level)


def register_gradient(op_name: str, fgradient: Callable | None = None, level: int = 10) -> Any:
    """Says the gradients of arguments: fgradient(call, gradient) gives one expression each; also a decorator."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_shape_func(op_name: str, data_dependent: Any, shape_func: Callable | None = None, level: int = 10) -> Any:
    """Says the shapes of results: shape_func(attrs, inputs, out_ndims) gives int64 tensors; also a decorator.

    An input is the argument where `data_dependent` (one truth for all, or one each) is true, else its shape.
    """
    flags = data_dependent if isinstance(data_dependent, list) else [data_dependent]
    get(op_name).set_attr("TShapeDataDependent", [int(flag) for flag in flags], level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_alter_op_layout(op_name: str, alter_layout: Callable | None = None, level: int = 10) -> Any:
    """Says a better layout of a call: alter_layout(attrs, inputs, tinfos, out_type) gives an expression or None."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Callable | None = None, level: int = 10) -> Any:
    """Says a call in other layouts: convert_layout(attrs, inputs, tinfos, desired_layouts) gives an expression."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Callable | None = None, level: int = 10) -> Any:
    """Says which layouts of inputs and outputs go together; also a decorator."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name: str, legal_op: Callable | None = None, level: int = 10) -> Any:
    """Says a call in terms a target has: legal_op(attrs, inputs, types) gives an expression or None."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_external_compiler(op_name: str, fexternal: Callable | None = None, level: int = 10) -> Any:
    """Says which external compiler takes calls of the operator; also a decorator."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)


def register_fake_quantization_to_integer(op_name: str, func: Callable | None = None, level: int = 10) -> Any:
    """Says a call between dequantize and quantize in integers: func(expr, type_map); also a decorator."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_mixed_precision_conversion(op_name: str, func: Callable | None = None, level: int = 10) -> Any:
    """Says how a call behaves in mixed precision: func(call, type) gives category and types; also a decorator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


_debug_functions = 0


def debug(expr: Any, debug_func: Callable | None = None) -> Any:
    """The value of `expr`; when the program runs, `debug_func` is called with each tensor of it (by default it is
    printed)."""
    global _debug_functions
    from ._make import call_op

    if debug_func is None:
        name = "tessera.print_tensor"
        register_func(name, lambda tensor: print(tensor), override=True)
    else:
        name = f"debugger_func{_debug_functions}"
        register_func(name, debug_func)
        _debug_functions += 1
    return call_op("debug", [expr], {"debug_func": name})
