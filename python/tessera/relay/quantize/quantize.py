"""From a float model to one whose layers compute on integers, step by step: partition, annotate, calibrate, realize."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir import IRModule, Op
from ...ir.attrs import make_node
from ...ir.transform import Pass, PassContext, Sequential, module_pass
from .. import op as _op
from .. import transform
from ..build_module import bind_params_by_name
from ..expr import Call, Constant, const
from ..expr_functor import ExprMutator
from ..function import Function
from ._annotate import SIMULATED, annotate, result_channel
from ._calibrate import calibrate
from ._integral import Integers, dequantized, integers_of_call, requantized
from ._partition import partition
from ._partition_conversions import partition_conversions
from .config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)

__all__ = [
    "QAnnotateKind",
    "QConfig",
    "QuantizeContext",
    "annotate",
    "current_qconfig",
    "kind2str",
    "partition",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "quantize_context",
    "realize",
]


def prerequisite_optimize(mod: Any, params: Any = None) -> IRModule:
    """Parameters as constants, batch normalisation and the like folded into weights."""
    function = mod["main"] if isinstance(mod, IRModule) else mod
    if params:
        function = bind_params_by_name(function, params)
    module = IRModule.from_expr(function)
    passes = [
        transform.InferType(),
        transform.SimplifyInference(),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.CanonicalizeOps(),
        transform.FoldConstant(),
    ]
    with PassContext(opt_level=3):
        return Sequential(passes)(module)


def _numbers(mark: Call) -> tuple[np.ndarray, float, float]:
    """Scale, least and largest integer of a mark that is calibrated."""
    if not all(isinstance(arg, Constant) for arg in list(mark.args)[1:]):
        raise ValueError("a layer is marked and has no scale yet; calibrate comes before realize")
    scale, low, high = (arg.data.numpy() for arg in list(mark.args)[1:])
    return scale, float(low), float(high)


def _rounded(value: Any, is_upward: bool) -> Any:
    return _op.floor(value + const(0.5)) if is_upward else _op.round_to_even(value)


class _Realizer(ExprMutator):
    """Layers whose data and weight are marked compute on their integers; what else is marked stays a simulation.

    Where the model is to be `fully_integral`, so do the operators between layers that can.
    """

    def __init__(self) -> None:
        super().__init__()
        self.integers: dict[Any, Any] = {}  # of a mark: data that several layers read is quantised once
        self.known: dict[Any, Integers] = {}  # of expressions in floats
        self.is_integral = current_qconfig().partition_conversions == "fully_integral"

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        found = integers_of_call(out, list(out.args), self.known) if self.is_integral else None
        return self._known(found) if found else self._layer(call, out)

    def _known(self, value: Integers) -> Any:
        out = dequantized(value)
        self.known[out] = value
        return out

    def _layer(self, call: Call, out: Call) -> Any:
        marks = {i: arg for i, arg in enumerate(out.args) if isinstance(arg, Call) and arg.op == Op.get(SIMULATED)}
        data = [i for i, mark in marks.items() if mark.attrs.kind == QAnnotateKind.INPUT]
        weight = [i for i, mark in marks.items() if mark.attrs.kind == QAnnotateKind.WEIGHT]
        if len(data) != 1 or len(weight) != 1 or not isinstance(call.op, Op) or call.op == Op.get(SIMULATED):
            return out
        config = current_qconfig()
        args = list(out.args)
        args[data[0]] = self._data(marks[data[0]])
        args[weight[0]], weight_scale = self._weight(marks[weight[0]])
        values = {name: out.attrs[name] for name in out.attrs.keys()}  # noqa: SIM118 (attributes are no mapping)
        values["out_dtype"] = config.dtype_activation
        layer = Call(out.op, args, make_node(str(out.op.attrs_type_key), **values))
        if self.is_integral and weight_scale.ndim == 0:
            return self._known(Integers(layer, float(_numbers(marks[data[0]])[0] * weight_scale)))
        _, behind = result_channel(call, weight_scale.ndim)
        step = weight_scale.reshape(-1, *[1] * behind) if weight_scale.ndim else weight_scale
        step = (_numbers(marks[data[0]])[0] * step).astype("float32")
        return _op.cast(layer, "float32") * const(step)

    def _data(self, mark: Call) -> Any:
        if mark not in self.integers:
            scale, low, high = _numbers(mark)
            dtype = current_qconfig().dtype_input
            if not mark.attrs.sign and dtype.startswith("int"):
                dtype = f"u{dtype}"
            if mark.args[0] in self.known:
                self.integers[mark] = requantized(self.known[mark.args[0]], float(scale), low, high, dtype)
            else:
                steps = _rounded(mark.args[0] * const(np.float32(1 / scale)), mark.attrs.rounding == "UPWARD")
                self.integers[mark] = _op.cast(_op.clip(steps, low, high), dtype)
        return self.integers[mark]

    @staticmethod
    def _weight(mark: Call) -> tuple[Constant, np.ndarray]:
        scale, low, high = _numbers(mark)
        steps = mark.args[0].data.numpy() / scale
        rounded = np.floor(steps + 0.5) if mark.attrs.rounding == "UPWARD" else np.rint(steps)
        return const(np.clip(rounded, low, high).astype(current_qconfig().dtype_weight)), scale


def realize() -> Pass:
    """The pass that puts marked layers on integers."""

    @module_pass(opt_level=1, name="QuantizeRealize")
    def run(mod: IRModule, _: Any) -> IRModule:
        function = mod["main"]
        return IRModule.from_expr(Function(function.params, _Realizer().visit(function.body), attrs=function.attrs))

    return run


def quantize(mod: Any, params: Any = None, dataset: Iterable[dict[str, Any]] | None = None) -> IRModule:
    """The model with the layers on integers that the configuration (`qconfig`) does not skip.

    Scales come from `global_scale`, or from runs over `dataset`, a sequence of inputs by name. With `do_simulation` the layers
    stay in floats, and their data and weights are what the integers would stand for. With `partition_conversions` the module has
    functions of their own for what comes before and after the integers.
    """
    module = transform.InferType()(prerequisite_optimize(mod, params))
    config = current_qconfig()
    with PassContext(opt_level=3):
        module = calibrate(dataset)(Sequential([partition(), annotate(), transform.InferType()])(module))
        if not config.do_simulation:
            module = realize()(transform.InferType()(module))
        module = Sequential([transform.InferType(), transform.FoldConstant()])(module)
    if config.partition_conversions == "disabled":
        return module
    dtypes = {config.dtype_input, config.dtype_weight, config.dtype_activation, f"u{config.dtype_input}"}
    return partition_conversions(module, dtypes, config.partition_conversions == "fully_integral")
