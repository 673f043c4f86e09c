"""From a float model to one whose layers compute on integers, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir import IRModule
from ...ir.attrs import make_node
from ...ir.transform import PassContext, Sequential
from .. import op as _op
from .. import transform
from ..build_module import bind_params_by_name
from ..expr import Call, Constant, const
from ..expr_functor import ExprMutator
from ..function import Function
from .annotate import QuantizedCall, find_calls
from .calibrate import calibrate
from .config import current_qconfig

__all__ = ["prerequisite_optimize", "quantize"]


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


def _round(value: Any) -> Any:
    """To the nearest integer; halves up, or to the even one where the configuration says TONEAREST."""
    if current_qconfig().rounding == "UPWARD":
        return _op.floor(value + const(0.5))
    return _op.round(value)


def _as_integers(data: Any, scale: float, is_unsigned: bool) -> Any:
    """round(data / scale), clipped, as integers."""
    config = current_qconfig()
    bits, dtype = config.nbit_input, config.dtype_input
    low, high = (0, 2**bits - 1) if is_unsigned else (1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1)
    scaled = _op.clip(_round(data * const(np.float32(1 / scale))), float(low), float(high))
    return _op.cast(scaled, f"u{dtype}" if is_unsigned and dtype.startswith("int") else dtype)


def _weight_as_integers(weight: Constant, scale: Any) -> np.ndarray:
    limit = 2 ** (current_qconfig().nbit_weight - 1) - 1
    values = np.floor(weight.data.numpy() / scale + 0.5)
    return np.clip(values, -limit, limit)


class _Realizer(ExprMutator):
    def __init__(self, calls: list[QuantizedCall]):
        super().__init__()
        self.calls = {each.call: each for each in calls}
        self.integers: dict[tuple[Any, float], Any] = {}  # data that several layers read is quantised once

    def visit_call(self, call: Call) -> Any:
        known = self.calls.get(call)
        out = super().visit_call(call)
        if known is None:
            return out
        config = current_qconfig()
        data = out.args[list(call.args).index(known.data)]
        key = (data, known.data_scale)
        if key not in self.integers:
            self.integers[key] = _as_integers(data, known.data_scale, known.is_unsigned)
        weight = _weight_as_integers(known.weight, known.weight_scale)
        position = list(call.args).index(known.weight)
        args = list(out.args)
        data_position = list(call.args).index(known.data)
        if config.do_simulation:  # the same numbers, rounded, as floats
            args[data_position] = _op.cast(self.integers[key], "float32") * const(np.float32(known.data_scale))
            args[position] = const((weight * known.weight_scale).astype("float32"))
            return Call(out.op, args, out.attrs, out.type_args, out.span)
        args[data_position] = self.integers[key]
        args[position] = const(weight.astype(config.dtype_weight))
        values = {name: out.attrs[name] for name in out.attrs.keys()}  # noqa: SIM118 (attributes are no mapping)
        values["out_dtype"] = config.dtype_activation
        layer = Call(out.op, args, make_node(str(out.op.attrs_type_key), **values))
        return _op.cast(layer, "float32") * const(known.result_scale)


def _realized(function: Function, calls: list[QuantizedCall]) -> IRModule:
    module = IRModule.from_expr(_Realizer(calls).visit(function))
    with PassContext(opt_level=3):
        return Sequential([transform.InferType(), transform.FoldConstant()])(module)


def quantize(mod: Any, params: Any = None, dataset: Iterable[dict[str, Any]] | None = None) -> IRModule:
    """The model with the layers on integers that the configuration (`qconfig`) does not skip.

    Scales come from `global_scale`, or from runs over `dataset`, a sequence of inputs by name.
    """
    module = prerequisite_optimize(mod, params)
    function = module["main"]
    calls = find_calls(function)
    calibrate(function, calls, dataset)
    return _realized(function, calls)
