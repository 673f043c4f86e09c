"""Cells of recurrent layers written out step by step, for importers of users.

Each takes the steps as a list of (batch, features) and returns the outputs of all steps and the last states. Weights are
(gates * units, features), the gates in the order that the function names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import op as _op
from ..expr import Expr

Activation = Callable[[Any], Any]


def _biased(x: Any, bias: Expr | None) -> Any:
    return x if bias is None else x + bias


def _in_order(steps: Sequence[Expr], backwards: bool) -> list[Expr]:
    return list(reversed(steps)) if backwards else list(steps)


def rnn_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Any,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    backwards: bool = False,
    act: Activation = _op.tanh,
) -> tuple[list[Expr], Expr]:
    """A plain recurrent layer: h = act(x w_inp + h w_hid + biases)."""
    outputs = []
    for x in _in_order(input_seqs, backwards):
        hidden_state = act(_biased(_op.nn.dense(x, w_inp), b_inp) + _biased(_op.nn.dense(hidden_state, w_hid), b_hid))
        outputs.append(hidden_state)
    return outputs, hidden_state


def gru_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Any,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    rz_act: Activation = _op.sigmoid,
    n_act: Activation = _op.tanh,
    backwards: bool = False,
    linear_before_reset: bool = True,
) -> tuple[list[Expr], Expr]:
    """A gated recurrent layer: gates reset, update, new. `linear_before_reset`: the reset gate multiplies what the hidden
    state gives to the new gate, else the hidden state itself.
    """
    outputs = []
    hidden_parts = _op.split(w_hid, 3, axis=0)
    bias_parts = None if b_hid is None else _op.split(b_hid, 3, axis=-1)

    def of_hidden(gate: int, state: Expr) -> Any:
        return _biased(_op.nn.dense(state, hidden_parts[gate]), None if bias_parts is None else bias_parts[gate])

    for x in _in_order(input_seqs, backwards):
        of_input = _op.split(_biased(_op.nn.dense(x, w_inp), b_inp), 3, axis=-1)
        reset = rz_act(of_input[0] + of_hidden(0, hidden_state))
        update = rz_act(of_input[1] + of_hidden(1, hidden_state))
        candidate = reset * of_hidden(2, hidden_state) if linear_before_reset else of_hidden(2, reset * hidden_state)
        new = n_act(of_input[2] + candidate)
        hidden_state = (hidden_state - new) * update + new
        outputs.append(hidden_state)
    return outputs, hidden_state


def lstm_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Any,
    cell_state: Any,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    proj: Expr | None = None,
    p_i: Any = None,
    p_f: Any = None,
    p_o: Any = None,
    f_act: Activation = _op.sigmoid,
    g_act: Activation = _op.tanh,
    h_act: Activation = _op.tanh,
    backwards: bool = False,
) -> tuple[list[Expr], Expr, Expr]:
    """Long short-term memory: gates input, forget, cell, output, with peepholes `p_*` and a projection where they are given."""
    outputs = []
    for x in _in_order(input_seqs, backwards):
        gates = _biased(_biased(_op.nn.dense(x, w_inp) + _op.nn.dense(hidden_state, w_hid), b_inp), b_hid)
        into, forget, cell, out = _op.split(gates, 4, axis=-1)
        seen = cell_state
        into = f_act(_biased(into, None if p_i is None else p_i * seen))
        forget = f_act(_biased(forget, None if p_f is None else p_f * seen))
        cell_state = forget * cell_state + into * g_act(cell)
        out = f_act(_biased(out, None if p_o is None else p_o * cell_state))
        hidden_state = out * h_act(cell_state)
        if proj is not None:
            hidden_state = _op.nn.dense(hidden_state, proj)
        outputs.append(hidden_state)
    return outputs, hidden_state, cell_state
