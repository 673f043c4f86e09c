"""PadChannels: channels that fill no vector are computed with padding, which goes on through what works channel by channel."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

TARGET = "llvm -mcpu=skylake-avx512"


def conv(x, ins, outs, size=1, groups=1, seed=0, **attrs):
    weight = np.random.RandomState(seed).uniform(-1, 1, (outs, ins // groups, size, size)).astype("float32")
    attrs.setdefault("padding", size // 2)
    return relay.nn.conv2d(x, relay.const(weight), channels=outs, kernel_size=(size, size), groups=groups, **attrs)


def biased(x, channels, seed=1):
    return x + relay.const(np.random.RandomState(seed).uniform(-1, 1, (channels, 1, 1)).astype("float32"))


def data(channels=58, size=6, batch=1):
    return relay.var("x", shape=(batch, channels, size, size))


def padded(function, target=TARGET):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    run = tvm.get_global_func("relay._transform.PadChannels")()
    with tvm.target.Target(target), tvm.transform.PassContext(opt_level=3):
        return relay.transform.InferType()(run(mod))["main"]


def calls(function, name):
    found = []

    def look(node):
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == name:
            found.append(tuple(int(n) for n in node.checked_type.shape))

    relay.analysis.post_order_visit(function.body, look)
    return found


def function_of(body):
    return relay.Function(relay.analysis.free_vars(body), body)


def same_answers(function, *inputs):
    def run(**context):
        with tvm.transform.PassContext(opt_level=3, **context):
            model = tvm.Model(relay.build(tvm.IRModule.from_expr(function), "llvm"))
        return model.run(*inputs)[0].numpy()

    np.testing.assert_allclose(run(), run(disabled_pass=["PadChannels"]), rtol=1e-4, atol=1e-4)


def branch(x):
    """As in a shufflenet: two convolutions over pixels and one over each channel between them."""
    y = relay.nn.relu(biased(conv(x, 58, 58), 58))
    y = biased(conv(y, 58, 58, size=3, groups=58), 58)
    return relay.nn.relu(biased(conv(y, 58, 58, seed=2), 58))


def test_padding_goes_through_a_whole_branch():
    out = padded(function_of(branch(data())))
    assert calls(out, "nn.conv2d") == [(1, 64, 6, 6)] * 3
    assert calls(out, "strided_slice") == [(1, 58, 6, 6)], "only the result is cropped"
    same_answers(function_of(branch(data())), np.random.RandomState(3).randn(1, 58, 6, 6).astype("float32"))


COUNTS = [(58, 64), (116, 128), (12, 16), (24, 32), (40, 48), (104, 112), (64, 64), (20, 20), (8, 8), (3, 3)]


@pytest.mark.parametrize("channels, wanted", COUNTS)
def test_channels_that_would_be_mostly_padding_stay(channels, wanted):
    out = padded(function_of(conv(data(16), 16, channels)))
    assert calls(out, "nn.conv2d") == [(1, wanted, 6, 6)]


def test_half_vectors_stay_where_they_take_half_the_time():
    out = padded(function_of(conv(data(16), 16, 24)), "llvm -mcpu=znver4")
    assert calls(out, "nn.conv2d") == [(1, 24, 6, 6)]
    out = padded(function_of(conv(data(16), 16, 58)), "llvm -mcpu=znver4")
    assert calls(out, "nn.conv2d") == [(1, 64, 6, 6)]


def pools(x):
    return [
        relay.nn.global_avg_pool2d(x),
        relay.nn.adaptive_max_pool2d(x, (2, 2)),
        relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1)),
        relay.nn.avg_pool2d(x, (3, 3), (2, 2), padding=(1, 1)),
        relay.mean(x, axis=(2, 3), keepdims=True),
        relay.max(x, axis=[-1], keepdims=True),
    ]


@pytest.mark.parametrize("which", range(6))
def test_padding_goes_through_pools(which):
    body = conv(pools(relay.nn.relu(biased(conv(data(), 58, 58), 58)))[which], 58, 64)
    assert calls(padded(function_of(body)), "strided_slice") == []
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 58, 6, 6).astype("float32"))


def test_axes_before_the_channels_may_be_reduced():
    body = relay.sum(conv(data(batch=2), 58, 58), axis=[0, 2])
    assert calls(padded(function_of(body)), "sum") == [(64, 6)]
    same_answers(function_of(body), np.random.RandomState(3).randn(2, 58, 6, 6).astype("float32"))


@pytest.mark.parametrize("axis, keepdims", [((1,), True), ((1, 2), False), (None, True)])
def test_padding_ends_where_channels_are_reduced(axis, keepdims):
    body = relay.sum(conv(data(), 58, 58), axis=axis, keepdims=keepdims)
    assert calls(padded(function_of(body)), "strided_slice") == [(1, 58, 6, 6)]
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 58, 6, 6).astype("float32"))


def test_padding_that_is_no_zero_ends_at_pools():
    body = relay.nn.avg_pool2d(relay.sigmoid(conv(data(), 58, 58)), (3, 3), padding=(1, 1), count_include_pad=True)
    assert calls(padded(function_of(body)), "nn.avg_pool2d") == [(1, 58, 6, 6)]


def test_gates_of_channels_keep_the_padding():
    """Squeeze and excite: what scales the channels is computed from their means."""
    y = relay.nn.relu(biased(conv(data(), 58, 58), 58))
    gate = relay.sigmoid(conv(relay.nn.relu(conv(relay.nn.global_avg_pool2d(y), 58, 16)), 16, 58, seed=6))
    body = conv(y * gate, 58, 64)
    out = padded(function_of(body))
    assert calls(out, "strided_slice") == [] and calls(out, "multiply") == [(1, 64, 6, 6)]
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 58, 6, 6).astype("float32"))


def block_in_groups(x, channels, groups, behind=64):
    """As in a regnet: pixels, windows in groups, gates of channels, pixels."""
    y = relay.nn.relu(biased(conv(x, 16, channels), channels))
    y = relay.nn.relu(biased(conv(y, channels, channels, size=3, groups=groups, seed=2), channels))
    gate = conv(relay.nn.global_avg_pool2d(y), channels, 16, seed=3)
    return conv(y * relay.sigmoid(conv(gate, 16, channels, seed=4)), channels, behind, seed=5)


def test_each_group_is_padded_and_so_are_the_layers_behind():
    """Data is read wherever a group begins in its blocks."""
    body = block_in_groups(data(16), 2 * 56, 2)
    out = padded(function_of(body))
    assert calls(out, "nn.conv2d")[:2] == [(1, 2 * 56, 6, 6), (1, 2 * 64, 6, 6)]
    assert calls(out, "multiply") == [(1, 2 * 64, 6, 6)]
    assert calls(out, "strided_slice") == [] and calls(out, "nn.pad") == []
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 16, 6, 6).astype("float32"))


def test_each_group_of_an_odd_number_is_padded_and_so_are_the_layers_around():
    body = block_in_groups(data(16), 2 * 58, 2)
    out = padded(function_of(body))
    assert calls(out, "nn.conv2d")[:2] == [(1, 2 * 64, 6, 6)] * 2 and calls(out, "multiply") == [(1, 2 * 64, 6, 6)]
    assert calls(out, "strided_slice") == [] and calls(out, "nn.pad") == []
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 16, 6, 6).astype("float32"))


def test_groups_are_not_padded_where_that_costs_the_layers_around_more():
    body = block_in_groups(data(16), 2 * 24, 2, behind=4096)
    assert calls(padded(function_of(body)), "nn.conv2d")[1] == (1, 48, 6, 6)


@pytest.mark.parametrize("channels, pads", [(56, []), (58, [(1, 2, 64, 6, 6)])])
def test_groups_of_data_of_no_layer_are_padded_where_they_are_read(channels, pads):
    body = conv(data(2 * channels), 2 * channels, 2 * channels, size=3, groups=2)
    out = padded(function_of(body))
    assert calls(out, "nn.pad") == pads and calls(out, "nn.conv2d") == [(1, 128, 6, 6)]
    assert calls(out, "strided_slice") == [(1, 2, channels, 6, 6)]
    same_answers(function_of(body), np.random.randn(1, 2 * channels, 6, 6).astype("float32"))


def test_groups_that_follow_groups_read_their_padding():
    body = conv(data(2 * 56), 2 * 56, 2 * 56, size=3, groups=2)
    body = conv(relay.nn.relu(body), 2 * 56, 2 * 56, size=3, groups=2, seed=1)
    out = padded(function_of(body))
    assert calls(out, "nn.conv2d") == [(1, 128, 6, 6)] * 2 and len(calls(out, "strided_slice")) == 1
    same_answers(function_of(body), np.random.randn(1, 2 * 56, 6, 6).astype("float32"))


@pytest.mark.parametrize(
    "ins, outs, groups, wanted", [(2 * 32, 2 * 56, 2, 128), (2 * 56, 2 * 32, 2, 64), (3 * 24, 3 * 40, 3, 144)]
)
def test_groups_of_other_widths_in_and_out(ins, outs, groups, wanted):
    body = conv(conv(conv(data(16), 16, ins), ins, outs, size=3, groups=groups), outs, 64)
    assert calls(padded(function_of(body)), "nn.conv2d")[1] == (1, wanted, 6, 6)
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 16, 6, 6).astype("float32"))


def test_groups_of_dynamic_images():
    x = relay.var("x", shape=(relay.Any(), 112, relay.Any(), 6))
    weight = relay.const(np.random.RandomState(0).randn(112, 56, 3, 3).astype("float32"))
    function = function_of(relay.nn.conv2d(x, weight, padding=1, channels=112, kernel_size=(3, 3), groups=2))
    values = np.random.RandomState(3).randn(2, 112, 5, 6).astype("float32")

    def run(**context):
        with tvm.transform.PassContext(opt_level=3, **context):
            return tvm.Model(relay.vm.compile(tvm.IRModule.from_expr(function), "llvm")).run(values)[0].numpy()

    np.testing.assert_allclose(run(), run(disabled_pass=["PadChannels"]), rtol=1e-4, atol=1e-3)


def test_both_sides_of_a_sum_are_padded():
    x = data()
    left, right = conv(x, 58, 58), conv(x, 58, 58, seed=5)
    out = padded(function_of(conv(left + right, 58, 64)))
    assert calls(out, "strided_slice") == [] and calls(out, "add") == [(1, 64, 6, 6)]


def test_a_value_that_others_use_is_cropped_for_them():
    x = data()
    left = conv(x, 58, 58)
    body = relay.concatenate([left, conv(left, 58, 58, seed=4)], axis=1)
    out = padded(function_of(body))
    assert len(calls(out, "strided_slice")) == 2
    same_answers(function_of(body), np.random.RandomState(3).randn(1, 58, 6, 6).astype("float32"))


def test_padding_stops_where_it_would_not_be_finite():
    """The logarithm of the padding is infinite, and a weight of zero would make no number of it."""
    y = relay.log(relay.exp(relay.log(relay.abs(conv(data(), 58, 58)) + relay.const(0.5)) * relay.const(1e9)))
    out = padded(function_of(conv(relay.log(conv(data(), 58, 58)), 58, 64)))
    assert calls(out, "log") == [(1, 58, 6, 6)]
    assert len(calls(padded(function_of(y)), "strided_slice")) == 1


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_results_are_those_without(layout):
    shape = (2, 58, 5, 7) if layout == "NCHW" else (2, 5, 7, 58)
    x = relay.var("x", shape=shape)
    body = relay.sigmoid(conv(x, 58, 30, 3, data_layout=layout)) if layout == "NCHW" else None
    if body is None:
        weight = relay.const(np.random.RandomState(0).randn(3, 3, 58, 30).astype("float32"))
        body = relay.sigmoid(
            relay.nn.conv2d(
                x, weight, channels=30, kernel_size=(3, 3), padding=1, data_layout="NHWC", kernel_layout="HWIO"
            )
        )
    same_answers(function_of(body), np.random.RandomState(3).randn(*shape).astype("float32"))


@pytest.mark.parametrize("seed", range(30))
def test_random_networks(seed):
    draw = np.random.RandomState(seed)
    now, channels = relay.var("x", shape=(1, 21, 7, 7)), 21
    start = now
    for _ in range(6):
        kind = draw.choice(["conv", "conv", "depthwise", "bias", "relu", "scale", "sum", "pool", "twice", "groups"])
        if kind == "conv":
            outs = int(draw.choice([13, 28, 31, 44, 58, 60, 64, 24]))
            now, channels = conv(now, channels, outs, int(draw.choice([1, 3])), seed=seed), outs
            now = now * relay.const(0.1)
        elif kind == "depthwise":
            now = conv(now, channels, channels, 3, groups=channels, seed=seed)
        elif kind == "groups":
            groups = 2 if channels % 2 == 0 else 1
            now = conv(now, channels, channels, 3, groups=groups, seed=seed) * relay.const(0.1)
        elif kind == "bias":
            now = biased(now, channels, seed)
        elif kind == "relu":
            now = relay.nn.leaky_relu(now, 0.1)
        elif kind == "scale":
            now = relay.tanh(now) * relay.const(1.5)
        elif kind == "sum":
            now = now + relay.sigmoid(now)
        elif kind == "pool":
            now = relay.nn.max_pool2d(now, (3, 3), (1, 1), padding=(1, 1))
        else:
            now, channels = relay.concatenate([now, now], 1), channels * 2
    same_answers(relay.Function([start], now), draw.randn(1, 21, 7, 7).astype("float32"))
