"""Where integers will be: data and constant weights of layers go through `simulated_quantize`, whose scales are parameters yet."""

from __future__ import annotations

from typing import Any, Callable

from ...ir import IRModule, Op, TensorType
from ...ir.attrs import make_node
from ...ir.transform import Pass, module_pass
from ..analysis import free_vars
from ..expr import Call, Constant, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ._partition import without_partition
from .config import QAnnotateKind, QuantizeContext, current_qconfig, quantize_context

__all__ = ["SIMULATED", "annotate", "register_annotate_function", "result_channel", "simulated_quantize"]

SIMULATED = "relay.op.annotation.simulated_quantize"

#: Rules of operators: rule(call, context) gives the positions of (data, weight), or None where the call stays.
_RULES: dict[str, Callable[[Call, QuantizeContext], tuple[int, int] | None]] = {}


def register_annotate_function(op_name: str, frewrite: Any = None, level: int = 10) -> Any:
    """Says how calls of an operator are quantised: rule(call, context) -> (data position, weight position) or None.

    Also a decorator.
    """
    del level

    def register(rule: Callable) -> Callable:
        _RULES[op_name] = rule
        return rule

    return register if frewrite is None else register(frewrite)


def is_depthwise(call: Call) -> bool:
    """True for a convolution that sums over no channels: dot products of int8 do not serve it, floats are as fast."""
    groups = getattr(call.attrs, "groups", 1)
    return groups > 1 and groups == call.attrs.channels


def _layer(call: Call, context: QuantizeContext) -> tuple[int, int] | None:
    if context.check_to_skip(call) or (current_qconfig().skip_depthwise_layers and is_depthwise(call)):
        return None
    return 0, 1


for _name in ("nn.conv2d", "nn.conv1d", "nn.dense"):
    register_annotate_function(_name, _layer)


def simulated_quantize(data: Any, scale: Any, low: Any, high: Any, kind: int, sign: bool = True) -> Call:
    """`data` in steps of `scale` between two integers, as floats; `kind` is one of QAnnotateKind."""
    rounding = "UPWARD" if current_qconfig().rounding == "UPWARD" else "round"
    attrs = make_node("relay.attrs.QuantizeAnnotationAttrs", kind=kind, sign=sign, rounding=rounding)
    return Call(Op.get(SIMULATED), [data, scale, low, high], attrs)


def result_channel(call: Call, rank: int) -> tuple[int | None, int]:
    """The axis of a weight that is the result's channels, and how many axes are behind them in the result.

    The axis is None where channels are not one axis of the weight.
    """
    if call.op.name == "nn.dense":
        return 0, 0
    attrs = call.attrs
    result, kernel = str(attrs.out_layout or attrs.data_layout), str(attrs.kernel_layout)
    if (
        len(result) != rank
        or len(kernel) != rank
        or (attrs.groups > 1 and kernel[0] != "O" and attrs.groups != attrs.channels)
    ):
        return None, 0
    return kernel.index("O"), len(result) - 1 - result.index("C")


def _weight_scale_shape(call: Call, weight: Constant) -> list[int]:
    shape = list(weight.data.shape)
    channel, _ = result_channel(call, len(shape))
    has_one = channel is None or current_qconfig().partition_conversions == "fully_integral"
    return [] if has_one else [extent if axis == channel else 1 for axis, extent in enumerate(shape)]


class _Annotator(ExprMutator):
    def __init__(self, context: QuantizeContext):
        super().__init__()
        self.context = context
        self.data: dict[Any, Call] = {}  # what several layers read is quantised once

    @staticmethod
    def _simulated(value: Any, kind: int, shape: list[int]) -> Call:
        names = ("dom_scale", "clip_min", "clip_max")
        shapes: list[list[int]] = [shape, [], []]
        scale, low, high = (Var(n, TensorType(s, "float32")) for n, s in zip(names, shapes))
        return simulated_quantize(value, scale, low, high, kind)

    def visit_call(self, call: Call) -> Any:
        marked = without_partition(call)
        if marked is not None:
            return self.visit(marked)
        out = super().visit_call(call)
        rule = _RULES.get(call.op.name) if isinstance(call.op, Op) else None
        positions = rule(call, self.context) if rule else None
        if positions is None or not current_qconfig().guard(call):
            return out
        data, weight = positions
        constant = out.args[weight]
        if not isinstance(constant, Constant) or constant.data.dtype != "float32":
            return out
        args = list(out.args)
        if args[data] not in self.data:
            self.data[args[data]] = self._simulated(args[data], QAnnotateKind.INPUT, [])
        args[data] = self.data[args[data]]
        args[weight] = self._simulated(constant, QAnnotateKind.WEIGHT, _weight_scale_shape(call, constant))
        return Call(out.op, args, out.attrs, out.type_args, out.span)


def annotate() -> Pass:
    """The pass that marks layers: their scales become further parameters of "main"."""

    @module_pass(opt_level=1, name="QuantizeAnnotate")
    def run(mod: IRModule, _: Any) -> IRModule:
        function = mod["main"]
        with quantize_context() as context:
            body = _Annotator(context).visit(function.body)
        given = set(function.params)
        params = [*function.params, *(var for var in free_vars(body) if var not in given)]
        return IRModule.from_expr(Function(params, body, attrs=function.attrs))

    return run
