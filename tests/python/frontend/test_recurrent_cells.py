"""Recurrent cells that importers of users call, against NumPy."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.frontend.common import gru_cell, lstm_cell, rnn_cell, unbind

STEPS, BATCH, FEATURES, UNITS = 3, 2, 4, 5
rng = np.random.default_rng(3)


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(build, *arrays):
    params = [relay.var(f"x{i}", shape=array.shape) for i, array in enumerate(arrays)]
    mod = tessera.IRModule.from_expr(relay.Function(params, build(*params)))
    return [out.numpy() for out in relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*arrays)]


def order(backwards):
    return range(STEPS - 1, -1, -1) if backwards else range(STEPS)


def check(found, states):
    """The outputs of all steps, and the last state."""
    np.testing.assert_allclose(found[0], np.stack(states), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], states[-1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backwards", [False, True])
def test_plain_recurrence(backwards):
    x, h, wx, wh, bx = (
        real(STEPS, BATCH, FEATURES),
        real(BATCH, UNITS),
        real(UNITS, FEATURES),
        real(UNITS, UNITS),
        real(UNITS),
    )

    def build(x, h, wx, wh, bx):
        outputs, last = rnn_cell(unbind(x), h, wx, wh, bx, backwards=backwards)
        return relay.Tuple([relay.stack(outputs, 0), last])

    found, states, state = run(build, x, h, wx, wh, bx), [], h
    for t in order(backwards):
        state = np.tanh(x[t] @ wx.T + bx + state @ wh.T)
        states.append(state)
    check(found, states)


@pytest.mark.parametrize("linear_before_reset", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_gated_recurrence(backwards, linear_before_reset):
    x, h = real(STEPS, BATCH, FEATURES), real(BATCH, UNITS)
    wx, wh, bx, bh = real(3 * UNITS, FEATURES), real(3 * UNITS, UNITS), real(3 * UNITS), real(3 * UNITS)

    def build(x, h, wx, wh, bx, bh):
        outputs, last = gru_cell(
            unbind(x), h, wx, wh, bx, bh, backwards=backwards, linear_before_reset=linear_before_reset
        )
        return relay.Tuple([relay.stack(outputs, 0), last])

    found, states, state = run(build, x, h, wx, wh, bx, bh), [], h
    (wr, wz, wn), (br, bz, bn) = np.split(wh, 3), np.split(bh, 3)
    for t in order(backwards):
        ir, iz, inew = np.split(x[t] @ wx.T + bx, 3, axis=1)
        reset, update = sigmoid(ir + state @ wr.T + br), sigmoid(iz + state @ wz.T + bz)
        part = reset * (state @ wn.T + bn) if linear_before_reset else (reset * state) @ wn.T + bn
        state = (1 - update) * np.tanh(inew + part) + update * state
        states.append(state)
    check(found, states)


@pytest.mark.parametrize("has_peepholes", [False, True])
@pytest.mark.parametrize("has_projection", [False, True])
def test_long_short_term_memory(has_peepholes, has_projection):
    size = 3 if has_projection else UNITS
    x, h, c = real(STEPS, BATCH, FEATURES), real(BATCH, size), real(BATCH, UNITS)
    wx, wh, bx, bh = real(4 * UNITS, FEATURES), real(4 * UNITS, size), real(4 * UNITS), real(4 * UNITS)
    proj, peep = real(size, UNITS), [real(UNITS) for _ in range(3)]

    def build(x, h, c, wx, wh, bx, bh, proj, *peep):
        extra = {"proj": proj} if has_projection else {}
        extra |= dict(zip(("p_i", "p_f", "p_o"), peep)) if has_peepholes else {}
        outputs, last, cell = lstm_cell(unbind(x), h, c, wx, wh, bx, bh, **extra)
        return relay.Tuple([relay.stack(outputs, 0), last, cell])

    found, states, state = run(build, x, h, c, wx, wh, bx, bh, proj, *peep), [], h
    pi, pf, po = peep if has_peepholes else (0, 0, 0)
    for t in range(STEPS):
        into, forget, cell, out = np.split(x[t] @ wx.T + bx + state @ wh.T + bh, 4, axis=1)
        c = sigmoid(forget + pf * c) * c + sigmoid(into + pi * c) * np.tanh(cell)
        state = sigmoid(out + po * c) * np.tanh(c)
        state = state @ proj.T if has_projection else state
        states.append(state)
    check(found, states)
    np.testing.assert_allclose(found[2], c, rtol=1e-5, atol=1e-6)
