"""Winograd's convolution: the operators, where AlterOpLayout chooses it, and what it gives against NumPy."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from test_blocked_conv import reference, run, values

OPTION = "relay.conv2d.winograd"


def conv(data, weight, padding=(1, 1, 1, 1), **how):
    x = relay.var("x", shape=data)
    taps = values(*weight, seed=1)
    y = relay.nn.conv2d(x, relay.const(taps), kernel_size=(3, 3), channels=weight[0], padding=padding, **how)
    return x, y, {"x": values(*data)}, taps


def chosen(function, target="llvm -mcpu=skylake-avx512", **config):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target(target), tvm.transform.PassContext(opt_level=3, config=config):
        return "winograd_without_weight_transform" in str(relay.transform.AlterOpLayout()(mod))


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * abs(want).max())


SHAPES = {
    "whole tiles": ((1, 64, 16, 16), (64, 64, 3, 3), (1, 1, 1, 1)),
    "tiles that stick out": ((1, 64, 14, 14), (64, 64, 3, 3), (1, 1, 1, 1)),
    "one row of tiles": ((1, 128, 4, 30), (128, 128, 3, 3), (1, 1, 1, 1)),
    "odd sides": ((1, 48, 13, 19), (96, 48, 3, 3), (1, 1, 1, 1)),
    "no padding": ((1, 64, 17, 17), (64, 64, 3, 3), (0, 0, 0, 0)),
    "uneven padding": ((1, 64, 15, 16), (64, 64, 3, 3), (0, 2, 1, 0)),
    "a batch": ((3, 32, 14, 14), (64, 32, 3, 3), (1, 1, 1, 1)),
    "blocks of 8": ((1, 72, 14, 14), (104, 72, 3, 3), (1, 1, 1, 1)),
    "rows by rows": ((1, 64, 56, 56), (64, 64, 3, 3), (1, 1, 1, 1)),
    "rows of a batch": ((2, 64, 40, 53), (64, 64, 3, 3), (1, 1, 1, 1)),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
def test_it_gives_the_sums_of_a_convolution(name, target):
    data, weight, padding = SHAPES[name]
    x, y, inputs, taps = conv(data, weight, padding)
    function = relay.Function([x], y)
    assert chosen(function, target)
    close(run(function, inputs, target), reference(inputs["x"], taps, padding=padding))


def test_what_follows_is_stored_with_it():
    x, y, inputs, taps = conv((1, 64, 18, 18), (64, 64, 3, 3))
    bias = values(64, seed=2)
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(bias)) + x)
    function = relay.Function([x], y * relay.sigmoid(y))
    assert chosen(function)
    want = reference(inputs["x"], taps, padding=(1, 1, 1, 1)) + bias.reshape(-1, 1, 1) + inputs["x"]
    want = np.maximum(want, 0)
    close(run(function, inputs), want / (1 + np.exp(-want)))


def test_channels_last():
    x = relay.var("x", shape=(1, 14, 14, 64))
    taps = values(3, 3, 64, 64)
    y = relay.nn.conv2d(
        x,
        relay.const(taps),
        kernel_size=(3, 3),
        channels=64,
        padding=(1, 1),
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    function = relay.Function([x], y)
    assert chosen(function)
    data = values(1, 14, 14, 64)
    want = reference(data.transpose(0, 3, 1, 2), taps.transpose(3, 2, 0, 1), padding=(1, 1, 1, 1))
    close(run(function, {"x": data}), want.transpose(0, 2, 3, 1))


def test_an_option_turns_it_off():
    x, y, inputs, taps = conv((1, 64, 14, 14), (64, 64, 3, 3))
    function = relay.Function([x], y)
    assert chosen(function) and not chosen(function, **{OPTION: False})
    exact = run(function, inputs, config={OPTION: False})
    want = reference(inputs["x"], taps, padding=(1, 1, 1, 1))
    assert abs(exact - want).max() < 1e-5 * abs(want).max()


REJECTED = {
    "few channels": ((1, 16, 16, 16), (16, 16, 3, 3), {}),
    "few pixels and many weights": ((1, 512, 7, 7), (512, 512, 3, 3), {}),
    "a stride": ((1, 64, 16, 16), (64, 64, 3, 3), {"strides": (2, 2)}),
    "wide dilation": ((1, 64, 28, 28), (64, 64, 3, 3), {"dilation": (13, 13)}),
    "groups of four": ((1, 64, 16, 16), (64, 4, 3, 3), {"groups": 16}),
    "each channel alone": ((1, 64, 28, 28), (64, 1, 3, 3), {"groups": 64}),
}


@pytest.mark.parametrize("name", sorted(REJECTED))
def test_where_it_does_not_pay_or_cannot_be_it_is_not_taken(name):
    data, weight, how = REJECTED[name]
    x, y, _, _ = conv(data, weight, **how)
    assert not chosen(relay.Function([x], y))


def test_a_weight_that_is_not_known_when_compiling_is_not_transformed():
    x, w = relay.var("x", shape=(1, 64, 16, 16)), relay.var("w", shape=(64, 64, 3, 3))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=64, padding=(1, 1))
    assert not chosen(relay.Function([x, w], y))


def test_a_weight_that_takes_a_scale_in_is_known_too():
    x, scale = relay.var("x", shape=(1, 64, 16, 16)), relay.const(values(64, 1, 1, 1))
    y = relay.nn.conv2d(x, relay.const(values(64, 64, 3, 3)) * scale, kernel_size=(3, 3), channels=64, padding=(1, 1))
    function = relay.Function([x], y)
    assert chosen(function)
    data = values(1, 64, 16, 16)
    want = reference(data, values(64, 64, 3, 3) * values(64, 1, 1, 1), padding=(1, 1, 1, 1))
    close(run(function, {"x": data}), want)


@pytest.mark.parametrize("tile", [2, 4])
def test_the_operators_alone(tile):
    x, w = relay.var("x", shape=(2, 5, 9, 11)), relay.var("w", shape=(6, 5, 3, 3))
    u = relay.nn.contrib_conv2d_winograd_weight_transform(w, tile)
    y = relay.nn.contrib_conv2d_winograd_without_weight_transform(
        x, u, tile, padding=(1, 1), channels=6, kernel_size=(3, 3)
    )
    inputs = {"x": values(2, 5, 9, 11), "w": values(6, 5, 3, 3)}
    close(run(relay.Function([x, w], y), inputs), reference(inputs["x"], inputs["w"], padding=(1, 1, 1, 1)))


def test_a_tile_that_is_not_known_is_an_error():
    w = relay.var("w", shape=(6, 5, 3, 3))
    function = relay.Function([w], relay.nn.contrib_conv2d_winograd_weight_transform(w, 3))
    with pytest.raises(ValueError, match="there is no Winograd transform for tiles of 3 results; there are 2 and 4"):
        run(function, {"w": values(6, 5, 3, 3)})
