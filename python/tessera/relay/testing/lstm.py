"""A recurrent network with gates, unrolled (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Call, Tuple, TupleGetItem, var
from ..function import Function
from ..scope_builder import ScopeBuilder
from ..ty import TensorType, TupleType
from . import layers
from .init import create_workload

__all__ = ["get_net", "get_workload", "lstm_cell"]


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """One step: a function of the input, the state (h, c) and four linear layers to (output, (h, c))."""
    scope = ScopeBuilder()
    state_type = TensorType((batch_size, num_hidden), dtype)
    weight_type, bias_type = TensorType((4 * num_hidden, num_hidden), dtype), TensorType((4 * num_hidden,), dtype)
    inputs, states = var("inputs", state_type), var("states", TupleType([state_type, state_type]))
    params = {
        which: var(f"{name}{which}", kind)
        for which, kind in (
            ("i2h_weight", weight_type),
            ("i2h_bias", bias_type),
            ("h2h_weight", weight_type),
            ("h2h_bias", bias_type),
        )
    }

    def linear(which: str, data: Any) -> Any:
        return layers.dense_add_bias(
            data=data, units=num_hidden * 4, weight=params[which + "_weight"], bias=params[which + "_bias"], name=which
        )

    i2h = scope.let("i2h", linear("i2h", inputs))
    h2h = scope.let("h2h", linear("h2h", TupleGetItem(states, 0)))
    gates = scope.let(("gates", TensorType((batch_size, 4 * num_hidden), dtype)), _op.add(i2h, h2h))
    parts = scope.let(
        ("slice_gates", TupleType([state_type] * 4)), _op.split(gates, indices_or_sections=4, axis=1).astuple()
    )
    in_gate, forget_gate, in_transform, out_gate = (
        scope.let((gate, state_type), function(TupleGetItem(parts, index)))
        for index, (gate, function) in enumerate(
            (
                ("in_gate", _op.sigmoid),
                ("forget_gate", _op.sigmoid),
                ("in_transform", _op.tanh),
                ("out_gate", _op.sigmoid),
            )
        )
    )
    next_c = scope.let(
        ("next_c", state_type),
        _op.add(_op.multiply(forget_gate, TupleGetItem(states, 1)), _op.multiply(in_gate, in_transform)),
    )
    next_h = scope.let(("next_h", state_type), _op.multiply(out_gate, _op.tanh(next_c)))
    result = scope.let(
        ("ret", TupleType([state_type, TupleType([state_type, state_type])])), Tuple([next_h, Tuple([next_h, next_c])])
    )
    scope.ret(result)
    return Function([inputs, states, *params.values()], scope.get())


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """`iterations` steps over the same input, each with its own cell, as a function of "data" and the parameters."""
    state_type = TensorType((batch_size, num_hidden), dtype)
    weight_type, bias_type = TensorType((4 * num_hidden, num_hidden), dtype), TensorType((4 * num_hidden,), dtype)
    scope = ScopeBuilder()
    zeros = scope.let(("zeros", state_type), _op.zeros((batch_size, num_hidden), dtype))
    states: Any = scope.let(("init_states", TupleType([state_type, state_type])), Tuple([zeros, zeros]))
    data = var("data", shape=(batch_size, num_hidden), dtype=dtype)
    out: Any = zeros
    for step in range(iterations):
        params = [
            var(f"{which}_{step}_{kind}", weight_type if kind == "weight" else bias_type)
            for which in ("i2h", "h2h")
            for kind in ("weight", "bias")
        ]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{step}")
        pair = scope.let(
            (f"call_{step}", TupleType([state_type, TupleType([state_type, state_type])])),
            Call(cell, [data, states, *params]),
        )
        out = scope.let((f"out_{step}", state_type), TupleGetItem(pair, 0))
        states = scope.let((f"states_{step}", TupleType([state_type, state_type])), TupleGetItem(pair, 1))
    scope.ret(out)
    body = scope.get()
    return Function(free_vars(body), body)


def get_workload(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
