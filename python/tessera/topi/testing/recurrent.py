"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def lstm_python(
    Xs: Any,
    Wi: Any,
    Wh: Any,
    Bi: Any = None,
    Bh: Any = None,
    h_init: Any = None,
    c_init: Any = None,
    proj: Any = None,
    p_i: Any = None,
    p_f: Any = None,
    p_o: Any = None,
    f_act: str = "sigmoid",
    g_act: str = "tanh",
    h_act: str = "tanh",
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[np.ndarray, np.ndarray]:
    """All hidden and all cell states of an LSTM over (time, batch, features), in the order they are computed.

    Weights hold the gates one after the other in the order of `weight_layout`; `p_i`, `p_f`, `p_o` are peepholes.
    """
    acts: dict[str, Callable[[Any], Any]] = {
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(0, x),
    }
    steps, batch, _ = Xs.shape
    cells = Wi.shape[0] // 4
    hidden = proj.shape[0] if proj is not None else cells
    h = h_init if h_init is not None else np.zeros((batch, hidden), Xs.dtype)
    c = c_init if c_init is not None else np.zeros((batch, cells), Xs.dtype)
    hs = np.zeros((steps, batch, hidden), Xs.dtype)
    cs = np.zeros((steps, batch, cells), Xs.dtype)
    for t in range(steps):
        total = Xs[steps - 1 - t if reverse else t] @ Wi.T + h @ Wh.T
        for bias in (Bi, Bh):
            total = total + bias if bias is not None else total
        gate = dict(zip(weight_layout, np.split(total, 4, axis=1)))
        if p_i is not None:
            gate["I"] = gate["I"] + p_i * c
        if p_f is not None:
            gate["F"] = gate["F"] + p_f * c
        c = acts[f_act](gate["F"]) * c + acts[f_act](gate["I"]) * acts[g_act](gate["G"])
        if p_o is not None:
            gate["O"] = gate["O"] + p_o * c
        h = acts[f_act](gate["O"]) * acts[h_act](c)
        h = h @ proj.T if proj is not None else h
        hs[t], cs[t] = h, c
    return hs, cs
