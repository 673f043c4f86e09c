"""SinkViews: the element-wise epilogue of a matmul is computed in the shape of the matmul."""

import numpy as np
import pytest
import tessera
from kernel_checks import rules, run
from tessera import relay
from tessera.relay import const


@pytest.fixture
def names():
    x, w = relay.var("x", shape=(6, 16)), relay.var("w", shape=(32, 16))
    residual, bias = relay.var("residual", shape=(1, 6, 32)), relay.var("bias", shape=(32,))
    return x, w, residual, bias


def values_for(params):
    rng = np.random.default_rng(5)
    return [rng.standard_normal([int(n) for n in p.type_annotation.shape]).astype("float32") for p in params]


def test_a_residual_is_added_behind_the_product(names):
    x, w, residual, bias = names
    seen = relay.reshape(relay.nn.dense(x, w) + bias, (1, 6, 32))
    function = relay.Function(list(names), relay.nn.relu(seen + residual))
    assert len(rules(function)) == 1
    values = values_for(names)
    answer = np.maximum(values[0] @ values[1].T + values[3] + values[2], 0)
    np.testing.assert_allclose(run(function, values), answer, rtol=1e-4, atol=1e-5)


def test_a_function_of_a_view_read_several_times_goes_along(names):
    x, w, _, bias = names
    seen = relay.reshape(relay.nn.dense(x, w), (2, 3, 32)) + bias
    function = relay.Function([x, w, bias], seen * relay.sigmoid(seen))
    assert len(rules(function)) == 1
    values = values_for(function.params)
    wide = (values[0].astype("float64") @ values[1].T).reshape(2, 3, 32) + values[2]
    np.testing.assert_allclose(run(function, values), wide / (1 + np.exp(-wide)), rtol=1e-4, atol=1e-5)


def test_a_transposition_of_ones_is_a_view(names):
    x, w, residual, _ = names
    seen = relay.transpose(relay.reshape(relay.nn.dense(x, w), (6, 1, 32)), (1, 0, 2))
    function = relay.Function([x, w, residual], seen + residual)
    assert len(rules(function)) == 1
    values = values_for(function.params)
    np.testing.assert_allclose(run(function, values), (values[0] @ values[1].T)[None] + values[2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shape, before, after, is_view",
    [
        ((1, 3, 4, 5), "NCHW", "NCHW1c", True),
        ((2, 32, 1, 1), "NCHW", "NCHW16c", True),
        ((2, 2, 1, 1, 16), "NCHW16c", "NHWC", True),
        ((1, 32, 1, 6), "NCHW", "NCHW16c", False),
        ((2, 3, 1, 5), "NCHW", "NHWC", False),
    ],
)
def test_a_change_of_layout_that_moves_nothing_is_a_view(shape, before, after, is_view):
    x = relay.var("x", shape=shape)
    function = relay.Function([x], relay.layout_transform(x, before, after))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(function))
    with tessera.transform.PassContext(opt_level=3):
        text = str(tessera.get_global_func("relay._transform.SinkViews")()(mod))
    assert ("layout_transform" not in text) == is_view
    value = np.random.default_rng(0).standard_normal(shape).astype("float32")
    plain = value if before == "NCHW" else np.moveaxis(value, 4, 2).reshape(2, 32, 1, 1)
    n, c, h, w = plain.shape
    blocks = {"NCHW1c": 1, "NCHW16c": 16}.get(after, c)
    want = np.moveaxis(plain.reshape(n, c // blocks, blocks, h, w), 2, 4)
    want = want[:, 0] if after == "NHWC" else want
    np.testing.assert_array_equal(run(function, [value]), want)


def test_a_transposition_of_nothing_stays():
    x = relay.var("x", shape=(1, 0))
    assert run(relay.Function([x], relay.transpose(x)), [np.zeros((1, 0), "float32")]).shape == (0, 1)


def test_what_is_broadcast_over_the_view_stays_behind_it(names):
    x, w, _, _ = names
    row = relay.var("row", shape=(2, 1, 32))
    function = relay.Function([x, w, row], relay.reshape(relay.nn.dense(x, w), (2, 3, 32)) + row)
    values = values_for(function.params)
    answer = (values[0] @ values[1].T).reshape(2, 3, 32) + values[2]
    np.testing.assert_allclose(run(function, values), answer, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("by", [8.0, 0.25, -4.0])
def test_a_quotient_by_a_power_of_two_keeps_every_bit(by):
    x = relay.var("x", shape=(257,))
    value = np.random.default_rng(2).standard_normal(257).astype("float32")
    assert np.array_equal(run(relay.Function([x], x / const(np.float32(by))), [value]), value / np.float32(by))


def test_a_quotient_by_another_number_keeps_every_bit():
    x = relay.var("x", shape=(4097,))
    value = np.random.default_rng(2).standard_normal(4097).astype("float32")
    assert np.array_equal(run(relay.Function([x], x / const(np.float32(3.3))), [value]), value / np.float32(3.3))
