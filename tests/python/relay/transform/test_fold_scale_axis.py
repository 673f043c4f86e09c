"""FoldScaleAxis: per-channel scales become part of weights."""

import numpy as np
import pytest
from pass_checks import check
from tessera import relay
from tessera.relay.transform import BackwardFoldScaleAxis, FoldConstant, FoldScaleAxis, ForwardFoldScaleAxis

RANDOM = np.random.RandomState(0)


def array(*shape, low=0.5, high=2.0):
    return RANDOM.uniform(low, high, shape).astype("float32")


def image(channels=4, layout="NCHW", name="x"):
    return relay.var(name, shape=(1, channels, 6, 6) if layout == "NCHW" else (1, 6, 6, channels))


def conv(data, weight, layout="NCHW", kernel="OIHW", groups=1):
    return relay.nn.conv2d(
        data, weight, kernel_size=(3, 3), padding=(1, 1), data_layout=layout, kernel_layout=kernel, groups=groups
    )


@pytest.mark.parametrize("is_relu", [False, True])
def test_a_scale_before_a_convolution_goes_into_its_input_channels(is_relu):
    x, w, s = image(), relay.const(array(8, 4, 3, 3)), relay.const(array(4, 1, 1))
    act = relay.nn.relu if is_relu else (lambda e: e)
    scale = relay.expand_dims(relay.squeeze(s, axis=[1, 2]), 1, 2)
    check(ForwardFoldScaleAxis(), conv(act(x * s), w), conv(act(x), w * scale))


@pytest.mark.parametrize("is_relu", [False, True])
def test_a_scale_behind_a_convolution_goes_into_its_output_channels(is_relu):
    x, w, s = image(), relay.const(array(8, 4, 3, 3)), relay.const(array(8, 1, 1))
    act = relay.nn.relu if is_relu else (lambda e: e)
    scale = relay.expand_dims(relay.squeeze(s, axis=[1, 2]), 1, 3)
    check(BackwardFoldScaleAxis(), act(conv(x, w)) * s, act(conv(x, w * scale)))


def test_a_scale_that_may_be_negative_does_not_pass_a_relu():
    x, w = image(), relay.const(array(8, 4, 3, 3))
    check(ForwardFoldScaleAxis(), conv(relay.nn.relu(x * relay.const(array(4, 1, 1, low=-1))), w))
    check(BackwardFoldScaleAxis(), relay.nn.relu(conv(x, w)) * relay.const(array(8, 1, 1, low=-1)))


def test_a_scale_along_another_axis_stays():
    x, w = image(), relay.const(array(8, 4, 3, 3))
    check(ForwardFoldScaleAxis(), conv(x * relay.const(array(1, 6, 1)), w))
    check(BackwardFoldScaleAxis(), conv(x, w) * relay.const(array(1, 6, 1)))


def test_a_scaled_value_with_another_use_stays():
    x, w = image(), relay.const(array(4, 4, 3, 3))
    y = x * relay.const(array(4, 1, 1))
    check(ForwardFoldScaleAxis(), relay.add(conv(y, w), y))
    z = conv(x, w)
    check(BackwardFoldScaleAxis(), relay.add(z * relay.const(array(4, 1, 1)), z))


def test_a_scale_goes_to_all_users_that_can_take_it():
    x, s = image(), relay.const(array(4, 1, 1))
    w1, w2 = relay.const(array(8, 4, 3, 3)), relay.const(array(2, 4, 3, 3))
    y = x * s
    flat = relay.squeeze(s, axis=[1, 2])
    scale = relay.expand_dims(flat, 1, 2)
    check(
        ForwardFoldScaleAxis(),
        relay.Tuple([conv(y, w1), conv(y, w2)]),
        relay.Tuple([conv(x, w1 * scale), conv(x, w2 * relay.expand_dims(flat, 1, 2))]),
    )


def test_a_bias_is_scaled_along():
    x, w, s = image(), relay.const(array(8, 4, 3, 3)), relay.const(array(8, 1, 1))
    b = relay.var("b", shape=(8, 1, 1))
    flat = relay.squeeze(s, axis=[1, 2])
    check(
        BackwardFoldScaleAxis(),
        relay.nn.relu(conv(x, w) + b) * s,
        relay.nn.relu(conv(x, w * relay.expand_dims(flat, 1, 3)) + b * relay.expand_dims(flat, 1, 2)),
    )


def test_a_sum_of_two_convolutions_hands_the_scale_to_both():
    x, s = image(), relay.const(array(8, 1, 1))
    w1, w2 = relay.const(array(8, 4, 3, 3)), relay.const(array(8, 4, 3, 3))
    flat = relay.squeeze(s, axis=[1, 2])
    check(
        BackwardFoldScaleAxis(),
        (conv(x, w1) + conv(x, w2)) * s,
        conv(x, w1 * relay.expand_dims(flat, 1, 3)) + conv(x, w2 * relay.expand_dims(flat, 1, 3)),
    )


def test_an_addend_before_a_convolution_is_divided():
    x, w, s = image(), relay.const(array(8, 4, 3, 3)), relay.const(array(4, 1, 1))
    b = relay.var("b", shape=(4, 1, 1))
    flat = relay.squeeze(s, axis=[1, 2])
    check(
        ForwardFoldScaleAxis(),
        conv(x * s + b, w),
        conv(x + b / relay.expand_dims(flat, 1, 2), w * relay.expand_dims(flat, 1, 2)),
    )


@pytest.mark.parametrize("fold", [ForwardFoldScaleAxis, BackwardFoldScaleAxis])
def test_dense_layers_and_other_layouts_take_scales(fold):
    is_forward = fold is ForwardFoldScaleAxis
    x, w = relay.var("x", shape=(2, 4)), relay.const(array(8, 4))
    if is_forward:
        s = relay.const(array(4))
        check(fold(), relay.nn.dense(x * s, w), relay.nn.dense(x, w * s))
    else:
        s = relay.const(array(8))
        check(fold(), relay.nn.dense(x, w) * s, relay.nn.dense(x, w * relay.expand_dims(s, 1)))
    x, w = image(layout="NHWC"), relay.const(array(3, 3, 4, 8))
    if is_forward:
        s = relay.const(array(4))
        after = conv(x, w * relay.expand_dims(s, 1), "NHWC", "HWIO")
        check(fold(), conv(x * s, w, "NHWC", "HWIO"), after)
    else:
        s = relay.const(array(8))
        check(fold(), conv(x, w, "NHWC", "HWIO") * s, conv(x, w * s, "NHWC", "HWIO"))


def test_depthwise_convolutions_take_scales_into_their_channels():
    x, w, s = image(), relay.const(array(4, 1, 3, 3)), relay.const(array(4, 1, 1))
    scale = relay.expand_dims(relay.squeeze(s, axis=[1, 2]), 1, 3)
    check(ForwardFoldScaleAxis(), conv(x * s, w, groups=4), conv(x, w * scale, groups=4))
    check(BackwardFoldScaleAxis(), conv(x, w, groups=4) * s, conv(x, w * scale, groups=4))


def test_with_constants_nothing_of_the_scale_is_left():
    x, w, s = image(), array(8, 4, 3, 3), array(8, 1, 1)
    check(
        [FoldScaleAxis(), FoldConstant()],
        conv(x, relay.const(w)) * relay.const(s),
        conv(x, relay.const(w * s.reshape(8, 1, 1, 1))),
    )


def blocked(data, weight, groups=1, kernel="OIHW2i2o"):
    return relay.nn.conv2d(
        data,
        weight,
        kernel_size=(3, 3),
        padding=(1, 1),
        channels=4,
        data_layout="NCHW2c",
        kernel_layout=kernel,
        groups=groups,
    )


def test_scales_of_blocks_of_channels_go_into_blocks_of_weights():
    x, w = relay.var("x", shape=(1, 2, 6, 6, 2)), relay.const(array(2, 2, 3, 3, 2, 2))
    s = relay.const(array(2, 1, 1, 2))
    flat = relay.squeeze(s, axis=[1, 2])
    into_in = relay.expand_dims(relay.expand_dims(flat, 2, 1), 1, 2)
    check(ForwardFoldScaleAxis(), blocked(relay.nn.relu(x * s), w), blocked(relay.nn.relu(x), w * into_in))
    into_out = relay.expand_dims(flat, 1, 4)
    check(BackwardFoldScaleAxis(), blocked(x, w) * s, blocked(x, w * into_out))


def test_scales_of_other_blocks_stay():
    x, w = relay.var("x", shape=(1, 2, 6, 6, 2)), relay.const(array(2, 4, 3, 3, 2))
    s = relay.const(array(2, 1, 1, 2))
    check(ForwardFoldScaleAxis(), blocked(x * s, w, kernel="OIHW2o"))
