"""A long short-term memory over the steps of a sequence."""

from __future__ import annotations

from typing import Any, Callable

from ... import te, tir
from ...te import Tensor

__all__ = ["lstm"]


def lstm(
    Xs: Tensor,
    Wi: Tensor,
    Wh: Tensor,
    Bi: Tensor | None = None,
    Bh: Tensor | None = None,
    h_init: Tensor | None = None,
    c_init: Tensor | None = None,
    proj: Tensor | None = None,
    p_i: Tensor | None = None,
    p_f: Tensor | None = None,
    p_o: Tensor | None = None,
    f_act: Callable = tir.sigmoid,
    g_act: Callable = tir.tanh,
    h_act: Callable = tir.tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> Any:
    """Hidden and cell states (steps, batch, width) of a sequence (steps, batch, features).

    Weights are (4 * width, features) and (4 * width, width), their gates in the order of `weight_layout`. `proj` (width of
    the output, width) narrows the hidden state; `p_i`, `p_f` and `p_o` (batch, width) are the weights of peepholes.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise ValueError(f"weight_layout is the order of I, F, G and O, not {weight_layout}")
    steps, batch, features = Xs.shape
    dtype, width = Xs.dtype, Wi.shape[0] // 4
    out_width = proj.shape[0] if proj is not None else width
    if isinstance(steps, tir.Var):
        raise ValueError("the number of steps of lstm must be known")

    # What the inputs contribute does not depend on the states: all steps at once.
    k = te.reduce_axis((0, features), name="ki2h")
    at = (lambda t: steps - 1 - t) if reverse else (lambda t: t)
    from_inputs = te.compute(
        (steps, batch, 4 * width),
        lambda t, b, g: te.sum(Xs[at(t), b, k].astype(dtype) * Wi[g, k].astype(dtype), axis=k),
        name="Xi2h",
    )
    biases = [bias for bias in (Bi, Bh) if bias is not None]
    if biases:
        plain = from_inputs
        from_inputs = te.compute(
            plain.shape,
            lambda t, b, g: sum((bias[g].astype(dtype) for bias in biases), plain[t, b, g]),
            name="Xi2h_bias",
        )

    def start(init: Tensor | None, columns: Any, name: str) -> Tensor:
        return te.compute(
            (1, batch, columns), lambda _, b, j: init[b, j] if init is not None else tir.const(0, dtype), name=name
        )

    hidden = te.placeholder((steps + 1, batch, out_width), dtype, name="h_state")
    cell = te.placeholder((steps + 1, batch, width), dtype, name="c_state")
    kh = te.reduce_axis((0, out_width), name="kh2h")
    from_hidden = te.compute(
        (steps + 1, batch, 4 * width),
        lambda t, b, g: te.sum(hidden[t - 1, b, kh] * Wh[g, kh].astype(dtype), axis=kh),
        name="s_h2h",
    )
    row = {gate: weight_layout.index(gate) * width for gate in "IFGO"}

    def gate(name: str, t: Any, b: Any, j: Any) -> Any:
        return from_inputs[t - 1, b, row[name] + j] + from_hidden[t, b, row[name] + j]

    def peep(weights: Tensor | None, value: Any, b: Any, j: Any) -> Any:
        return weights[b, j] * value if weights is not None else tir.const(0, dtype)

    shape = (steps + 1, batch, width)
    next_cell = te.compute(
        shape,
        lambda t, b, j: (
            f_act(gate("F", t, b, j) + peep(p_f, cell[t - 1, b, j], b, j)) * cell[t - 1, b, j]
            + f_act(gate("I", t, b, j) + peep(p_i, cell[t - 1, b, j], b, j)) * g_act(gate("G", t, b, j))
        ),
        name="next_c",
    )
    next_hidden = te.compute(
        shape,
        lambda t, b, j: f_act(gate("O", t, b, j) + peep(p_o, next_cell[t, b, j], b, j)) * h_act(next_cell[t, b, j]),
        name="next_h",
    )
    if proj is not None:
        wide = next_hidden
        kr = te.reduce_axis((0, width), name="kh2p")
        next_hidden = te.compute(
            (steps + 1, batch, out_width),
            lambda t, b, j: te.sum(wide[t, b, kr] * proj[j, kr].astype(dtype), axis=kr),
            name="h_proj",
        )
    states_h, states_c = te.scan(
        [start(h_init, out_width, "h_init"), start(c_init, width, "c_init")],
        [next_hidden, next_cell],
        [hidden, cell],
        name="lstm_scan",
    )
    # The states before the first step are not part of the result.
    out_h = te.compute((steps, batch, out_width), lambda t, b, j: states_h[t + 1, b, j], name="hidden_state")
    out_c = te.compute((steps, batch, width), lambda t, b, j: states_c[t + 1, b, j], name="cell_state")
    return out_h, out_c
