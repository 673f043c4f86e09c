"""Convolutions in groups, of one and three dimensions, and transposed ones: in blocks of channels, against NumPy."""

import itertools

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor

TARGETS = ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"]


def values(shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype("float32")


def run(function, inputs, target="llvm"):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(function), target)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(**inputs)
    return module.get_output(0).numpy()


def altered(function, target="llvm -mcpu=skylake-avx512"):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target(target), tvm.transform.PassContext(opt_level=3):
        return str(relay.transform.AlterOpLayout()(mod))


def both_sides(padding, spatial):
    return padding if len(padding) == 2 * spatial else (*padding, *padding)


def reference(x, w, strides, padding, dilation, groups):
    """(n, c, ...) and (o, c / groups, ...), any number of dimensions."""
    spatial = x.ndim - 2
    sides = both_sides(padding, spatial)
    x = np.pad(x, [(0, 0), (0, 0), *zip(sides[:spatial], sides[spatial:])]).astype("float64")
    taps = w.shape[2:]
    extents = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], taps, dilation, strides)]
    outs, ins = w.shape[0] // groups, w.shape[1]
    out = np.zeros((x.shape[0], w.shape[0], *extents))
    for tap in itertools.product(*map(range, taps)):
        at = tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilation, extents, strides))
        window = x[(slice(None), slice(None), *at)]
        for group in range(groups):
            part = window[:, group * ins : (group + 1) * ins]
            of = slice(group * outs, (group + 1) * outs)
            out[:, of] += np.einsum("nc...,oc->no...", part, w[(of, slice(None), *tap)])
    return out


def transposed_reference(x, w, strides, padding, dilation, more):
    """(n, c, ...) and (c, o, ...): every element spreads over a window."""
    spatial = x.ndim - 2
    sides, taps = both_sides(padding, spatial), w.shape[2:]
    full = [(n - 1) * s + (k - 1) * d + 1 for n, k, d, s in zip(x.shape[2:], taps, dilation, strides)]
    out = np.zeros((x.shape[0], w.shape[1], *[f + m for f, m in zip(full, more)]))
    for tap in itertools.product(*map(range, taps)):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[2:], strides))
        out[(slice(None), slice(None), *at)] += np.einsum("nc...,co->no...", x.astype("float64"), w[(..., *tap)])
    ends = [extent - sides[spatial + i] for i, extent in enumerate(out.shape[2:])]
    return out[(slice(None), slice(None), *(slice(sides[i], ends[i]) for i in range(spatial)))]


def check(x_shape, w_shape, target, strides=1, padding=None, dilation=1, groups=1):
    spatial = len(x_shape) - 2
    spread = lambda value: (value,) * spatial if isinstance(value, int) else value
    strides, dilation, padding = spread(strides), spread(dilation), spread(padding or 0)
    x, w = relay.var("x", shape=x_shape), relay.var("w", shape=w_shape)
    conv = getattr(relay.nn, f"conv{spatial}d")
    how = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    y = relay.nn.relu(conv(x, w, channels=w_shape[0], kernel_size=w_shape[2:], **how))
    inputs = {"x": values(x_shape), "w": values(w_shape, 1)}
    got = run(relay.Function([x, w], y), inputs, target)
    want = np.maximum(reference(inputs["x"], inputs["w"], strides, padding, dilation, groups), 0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


KINDS = {
    "4 channels a group": ((1, 32, 9, 9), (32, 4, 3, 3), {"groups": 8, "padding": (1, 1)}),
    "8 channels a group": ((2, 32, 7, 10), (32, 8, 3, 3), {"groups": 4, "padding": (1, 0, 2, 1)}),
    "8 a group, strided": ((1, 48, 11, 11), (48, 8, 3, 3), {"groups": 6, "strides": (2, 1), "padding": (1, 1)}),
    "4 a group, dilated": ((1, 16, 12, 12), (16, 4, 3, 3), {"groups": 4, "dilation": (2, 2), "padding": (2, 2)}),
    "16 a group": ((1, 64, 8, 8), (64, 16, 3, 3), {"groups": 4, "padding": (1, 1)}),
    "24 a group": ((1, 72, 6, 6), (72, 24, 1, 1), {"groups": 3}),
    "20 a group": ((1, 40, 6, 6), (40, 20, 3, 3), {"groups": 2}),
    "groups that begin within a block": ((1, 224, 9, 8), (224, 56, 3, 3), {"groups": 4, "padding": (1, 1)}),
    "the same, strided": ((2, 224, 9, 8), (256, 56, 3, 3), {"groups": 4, "strides": (2, 2), "padding": (1, 1)}),
    "the same, dilated": ((1, 112, 11, 12), (64, 56, 3, 3), {"groups": 2, "dilation": (2, 3), "padding": (2, 0)}),
    "within a block, by fours": ((1, 48, 7, 7), (64, 12, 3, 3), {"groups": 4, "padding": (1, 1)}),
    "within a block, 40 to 24": ((1, 80, 7, 7), (48, 40, 1, 1), {"groups": 2}),
    "within a block, a line": ((1, 96, 30), (96, 24, 3), {"groups": 4, "padding": (1,)}),
    "within a block, a box": ((1, 48, 3, 5, 6), (64, 24, 3, 1, 3), {"groups": 2, "padding": (1, 0, 1)}),
    "2 a group": ((1, 16, 6, 6), (16, 2, 3, 3), {"groups": 8}),
    "more out than in": ((1, 32, 6, 6), (64, 8, 3, 3), {"groups": 4, "padding": (1, 1)}),
    "fewer out than in": ((1, 64, 6, 6), (32, 16, 1, 1), {"groups": 4}),
    "17 by 5 a group": ((1, 34, 5, 5), (10, 17, 3, 3), {"groups": 2}),
    "a line": ((1, 32, 40), (48, 32, 3), {"padding": (1,)}),
    "a line of one channel": ((2, 1, 50), (16, 1, 10), {"strides": 5}),
    "a line, strided": ((1, 16, 33), (32, 16, 5), {"strides": 2, "padding": (0, 3)}),
    "a line, dilated": ((1, 24, 30), (24, 24, 3), {"dilation": 4, "padding": (8, 0)}),
    "a line in groups": ((1, 32, 21), (64, 8, 7), {"groups": 4, "padding": (3,)}),
    "a line, each alone": ((1, 32, 30), (32, 1, 9), {"groups": 32, "padding": (4,)}),
    "a line of odd channels": ((1, 5, 20), (7, 5, 3), {}),
    "a box": ((1, 16, 4, 6, 6), (32, 16, 3, 3, 3), {"padding": (1, 1, 1)}),
    "a box, strided": ((1, 3, 5, 9, 9), (16, 3, 3, 5, 5), {"strides": (1, 2, 2), "padding": (1, 2, 2)}),
    "a box, uneven": ((1, 16, 3, 5, 5), (16, 16, 2, 3, 3), {"padding": (0, 1, 2, 1, 0, 1), "dilation": (1, 2, 1)}),
    "a box in groups": ((1, 32, 3, 4, 4), (32, 8, 3, 3, 3), {"groups": 4, "padding": (1, 1, 1)}),
    "a box, each alone": ((1, 16, 4, 5, 5), (16, 1, 3, 3, 3), {"groups": 16, "padding": (1, 1, 1)}),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_convolution_gives_its_sums(name, target):
    x_shape, w_shape, how = KINDS[name]
    check(x_shape, w_shape, target, **how)


TRANSPOSED = {
    "2x2 by 2": ((1, 32, 5, 5), (32, 16, 2, 2), {"strides": (2, 2)}),
    "4x4 by 2": ((2, 16, 4, 6), (16, 32, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
    "3x3 by 2": ((1, 16, 6, 6), (16, 16, 3, 3), {"strides": (2, 2), "padding": (1, 1), "output_padding": (1, 1)}),
    "3x3 by 2, cut": ((1, 16, 5, 5), (16, 16, 3, 3), {"strides": (2, 2), "padding": (0, 1, 2, 1)}),
    "3x3": ((1, 16, 7, 7), (16, 24, 3, 3), {"padding": (1, 1)}),
    "3x3, dilated": ((1, 16, 6, 6), (16, 16, 3, 3), {"dilation": (2, 2), "padding": (2, 2)}),
    "dilated and strided": ((1, 16, 5, 5), (16, 16, 3, 3), {"dilation": (2, 2), "strides": (2, 2)}),
    "1x1 by 3": ((1, 16, 4, 4), (16, 16, 1, 1), {"strides": (3, 3), "output_padding": (2, 2)}),
    "5x3 by 3 and 1": ((1, 8, 4, 5), (8, 16, 5, 3), {"strides": (3, 1), "padding": (2, 1)}),
    "three channels": ((1, 16, 6, 9), (16, 3, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
    "three channels, 3x3": ((1, 8, 5, 17), (8, 3, 3, 3), {"strides": (2, 2), "padding": (1, 0, 0, 1)}),
    "7x7 by 3": ((1, 8, 5, 5), (8, 16, 7, 7), {"strides": (3, 3), "padding": (2, 2)}),
    "a large weight": ((1, 128, 3, 3), (128, 160, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
    "odd channels": ((1, 7, 5, 5), (7, 5, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
    "wide padding": ((1, 16, 6, 6), (16, 16, 4, 4), {"strides": (2, 2), "padding": (3, 3)}),
    "a line": ((1, 32, 9), (32, 16, 8), {"strides": (4,), "padding": (2,)}),
    "a line, uneven": ((1, 16, 7), (16, 16, 5), {"strides": (2,), "padding": (1, 2)}),
    "a box": ((1, 16, 3, 4, 4), (16, 16, 2, 2, 2), {"strides": (2, 2, 2)}),
    "a box, 3x3x3": ((1, 16, 2, 3, 3), (16, 8, 3, 3, 3), {"strides": (1, 2, 2), "padding": (1, 1, 1)}),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(TRANSPOSED))
def test_a_transposed_convolution_spreads_its_elements(name, target):
    x_shape, w_shape, how = TRANSPOSED[name]
    spatial = len(x_shape) - 2
    x = relay.var("x", shape=x_shape)
    weight, bias = values(w_shape, 1), values((w_shape[1],), 2)
    conv = getattr(relay.nn, f"conv{spatial}d_transpose")
    layout = {2: "IOHW"}.get(spatial, "OIDHW" if spatial == 3 else "OIW")
    y = conv(x, relay.const(weight), channels=w_shape[1], kernel_size=w_shape[2:], kernel_layout=layout, **how)
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(bias)))
    data = values(x_shape)
    got = run(relay.Function([x], y), {"x": data}, target)
    ones = (1,) * spatial
    want = transposed_reference(
        data,
        weight,
        how.get("strides", ones),
        how.get("padding", (0,) * spatial),
        how.get("dilation", ones),
        how.get("output_padding", (0,) * spatial),
    )
    want = np.maximum(want + bias.reshape(-1, *ones), 0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_groups_smaller_than_a_vector_share_one():
    x, w = relay.var("x", shape=(1, 128, 8, 8)), relay.var("w", shape=(128, 4, 3, 3))
    y = relay.nn.conv2d(x, w, groups=32, padding=(1, 1), channels=128, kernel_size=(3, 3))
    text = altered(relay.Function([x, w], y))
    assert 'data_layout="NCHW16c"' in text and 'kernel_layout="OIHW4i16o"' in text


def test_neighbours_in_other_dimensions_keep_their_blocks():
    x = relay.var("x", shape=(1, 16, 30))
    y = relay.nn.conv1d(x, relay.var("v", shape=(32, 16, 3)), channels=32, kernel_size=3)
    y = relay.nn.conv1d(relay.nn.relu(y), relay.var("w", shape=(16, 32, 3)), channels=16, kernel_size=3)
    text = altered(relay.Function(relay.analysis.free_vars(y), y))
    data = [line for line in text.splitlines() if "layout_transform" in line and "NCW" in line]
    assert len(data) == 2  # into blocks, and back at the end


def test_phases_of_a_transposed_convolution_have_as_many_taps_as_there_are():
    """Of 3x3 taps two apart one result has 4, two have 2, and one has 1."""
    x = relay.var("x", shape=(1, 32, 6, 6))
    w = relay.const(values((32, 16, 3, 3)))
    y = relay.nn.conv2d_transpose(x, w, strides=(2, 2), padding=(1, 1), channels=16, kernel_size=(3, 3))
    assert "kernel_size=[3, 3]" in altered(relay.Function([x], y))
    seen = []

    def look(function, _mod, _ctx):
        seen.append(function)
        return function

    passes = [(0, tvm.tir.transform.prim_func_pass(look, opt_level=0, name="look"))]
    with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": passes}):
        relay.build(tvm.IRModule.from_expr(relay.Function([x], y)), "llvm -mcpu=skylake-avx512")
    steps = []

    def count(node):
        if isinstance(node, tvm.tir.Block) and node.name_hint.startswith("compute") and "update" in node.name_hint:
            extents = [int(v.dom.extent) for v in node.iter_vars if v.iter_type == tvm.tir.IterVar.CommReduce]
            steps.append(int(np.prod(extents)) // 32)

    for function in seen:
        if "conv2d_transpose" in str(function.attrs["global_symbol"]):
            tvm.tir.stmt_functor.post_order_visit(function.body, count)
    assert sorted(steps) == [1, 2, 2, 4]


def test_many_phases_get_taps_of_zeros():
    x = relay.var("x", shape=(1, 32, 6, 6))
    w = relay.const(values((32, 16, 5, 5)))
    y = relay.nn.conv2d_transpose(x, w, strides=(4, 4), padding=(1, 1), channels=16, kernel_size=(5, 5))
    text = altered(relay.Function([x], y))
    assert "kernel_size=[8, 8]" in text and "padding=[1, 1, 4, 4]" in text  # cut off at the end


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("size", "stride", "padding"), [(3, 2, (1, 1, 1, 1)), (2, 2, (0, 0, 0, 0)), (3, 1, (0, 1, 2, 1))]
)
def test_a_pool_goes_over_its_windows(kind, size, stride, padding, layout, target):
    x = values((1, 32, 29, 37))
    moved = {"NHWC": x.transpose(0, 2, 3, 1), "NCHW16c": x.reshape(1, 2, 16, 29, 37).transpose(0, 1, 3, 4, 2)}
    data = np.ascontiguousarray(moved.get(layout, x))
    var = relay.var("x", shape=data.shape)
    op = getattr(relay.nn, f"{kind}_pool2d")
    more = {"count_include_pad": True} if kind == "avg" else {}
    y = op(var, (size, size), (stride, stride), padding=padding, layout=layout, **more)
    got = run(relay.Function([var], y), {"x": data}, target)
    top, left, bottom, right = padding
    border = -np.inf if kind == "max" else 0
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=border)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))[:, :, ::stride, ::stride]
    want = windows.max((-2, -1)) if kind == "max" else windows.mean((-2, -1))
    back = {"NHWC": lambda v: v.transpose(0, 3, 1, 2), "NCHW16c": lambda v: v.transpose(0, 1, 4, 2, 3)}
    np.testing.assert_allclose(back.get(layout, lambda v: v)(got).reshape(want.shape), want, rtol=1e-5, atol=1e-6)
