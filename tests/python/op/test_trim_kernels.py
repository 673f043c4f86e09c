"""Positions of a kernel that read nothing but padding are left out, whatever its dimensions, strides and layout."""

import itertools

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

CONVS = {1: relay.nn.conv1d, 2: relay.nn.conv2d, 3: relay.nn.conv3d}


def reference(x, w, stride, before, after, dilation, groups):
    """In NumPy, position by position, of data and weight whose channels come second."""
    spatial = x.ndim - 2
    padded = np.pad(x.astype("float64"), [(0, 0), (0, 0), *zip(before, after)])
    results = [(padded.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(spatial)]
    out = np.zeros((x.shape[0], w.shape[0], *results))
    ins, outs = w.shape[1], w.shape[0] // groups
    for position in itertools.product(*(range(n) for n in w.shape[2:])):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(position, dilation, results, stride))
        for g in range(groups):
            data = padded[(slice(None), slice(g * ins, (g + 1) * ins), *at)]
            weight = w[(slice(g * outs, (g + 1) * outs), slice(None), *position)].astype("float64")
            out[:, g * outs : (g + 1) * outs] += np.einsum("oi,ni...->no...", weight, data)
    return out


def legalized(function):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target("llvm -mcpu=skylake-avx512"), tvm.transform.PassContext(opt_level=3):
        return relay.transform.InferType()(relay.transform.Legalize()(mod))["main"]


def weights_of(function):
    found = []

    def look(node):
        if isinstance(node, relay.Call) and getattr(node.op, "name", "").startswith("nn.conv"):
            found.append(tuple(int(n) for n in node.args[1].checked_type.shape))

    relay.analysis.post_order_visit(function.body, look)
    return found


def conv(shape, weight, dtype="float32", **attrs):
    data = relay.var("x", shape=shape, dtype=dtype)
    size = weight.shape[2:]
    body = CONVS[len(size)](data, relay.const(weight), kernel_size=size, channels=weight.shape[0], **attrs)
    return relay.Function([data], body)


def ones(*shape):
    return np.ones(shape, "float32")


@pytest.mark.parametrize("dilation, size", [(36, 1), (28, 1), (27, 3), (1, 3)])
def test_only_positions_that_read_data_are_kept(dilation, size):
    function = conv((1, 4, 28, 28), ones(4, 4, 3, 3), padding=dilation, dilation=dilation)
    assert weights_of(legalized(function)) == [(4, 4, size, size)]


def test_frames_at_the_ends_need_fewer_taps():
    function = conv((1, 64, 2, 14, 14), ones(64, 64, 3, 3, 3), padding=1)
    assert weights_of(legalized(function)) == [(64, 64, 2, 3, 3)] * 2


def test_little_work_stays_in_one_piece():
    function = conv((1, 2, 2, 14, 14), ones(2, 2, 3, 3, 3), padding=1)
    assert weights_of(legalized(function)) == [(2, 2, 3, 3, 3)]


def test_a_weight_that_is_an_input_stays():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    function = relay.Function([x, w], relay.nn.conv2d(x, w, kernel_size=(3, 3), padding=9, dilation=9))
    assert weights_of(legalized(function)) == [(4, 4, 3, 3)]


def test_int8_layers_keep_their_form():
    """What is left goes through the other rules of the operator: data of int8 becomes uint8."""
    x = relay.var("x", shape=(1, 16, 8, 8), dtype="int8")
    w = relay.const(np.ones((16, 16, 3, 3), "int8"))
    body = relay.nn.conv2d(x, w, kernel_size=(3, 3), padding=9, dilation=9, out_dtype="int32")
    out = legalized(relay.Function([x], body))
    assert weights_of(out) == [(16, 16, 1, 1)] and "uint8" in str(out)


@pytest.mark.parametrize("seed", range(30))
def test_random_convolutions(seed):
    draw = np.random.RandomState(seed)
    spatial = int(draw.randint(1, 4))
    groups = int(draw.choice([1, 1, 1, 4]))
    ins, outs = (int(draw.choice([4, 8, 64])) for _ in range(2))
    pick = lambda values: [int(n) for n in draw.choice(values, spatial)]
    extents, positions, stride = pick([1, 2, 3, 5, 9]), pick([1, 2, 3, 5]), pick([1, 1, 2, 3])
    dilation, before, after = pick([1, 1, 2, 4, 9]), pick([0, 1, 2, 6, 12]), pick([0, 1, 2, 6, 12])
    for i in range(spatial):  # at least one result
        missing = dilation[i] * (positions[i] - 1) + 1 - extents[i] - before[i] - after[i]
        after[i] += max(0, missing)
    x = draw.randn(2, ins, *extents).astype("float32")
    w = draw.randn(outs, ins // groups, *positions).astype("float32")
    last = bool(draw.randint(2)) and spatial == 2 and groups == 1
    attrs = {"strides": stride, "padding": before + after, "dilation": dilation, "groups": groups}
    if last:
        data = relay.var("x", shape=(2, *extents, ins))
        weight = relay.const(w.transpose(2, 3, 1, 0))
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        function = relay.Function(
            [data], relay.nn.conv2d(data, weight, kernel_size=positions, channels=outs, **attrs, **layouts)
        )
    else:
        function = conv(x.shape, w, **attrs)
    with tvm.transform.PassContext(opt_level=3):
        model = tvm.Model(relay.build(tvm.IRModule.from_expr(function), "llvm"))
    got = model.run(np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if last else x)[0].numpy()
    want = reference(x, w, stride, before, after, dilation, groups)
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2) if last else got, want, rtol=1e-3, atol=1e-2)
