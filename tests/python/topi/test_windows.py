"""Pools: windows side by side share what they have in common, and no element asks whether it lies inside."""

import itertools

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from test_conv_kinds import TARGETS, run


def numbers(shape, dtype="float32"):
    made = np.random.default_rng(sum(shape)).standard_normal(shape) * 40
    return np.abs(made).astype(dtype) if dtype.startswith("u") else made.astype(dtype)


def windows(x, size, strides, padding, border):
    """(n, c, ...) as (taps, n, c, ...): the elements of all windows, outside of the data `border`."""
    spatial = len(size)
    sides = padding if len(padding) == 2 * spatial else (*padding, *padding)
    x = np.pad(x, [(0, 0), (0, 0), *zip(sides[:spatial], sides[spatial:])], constant_values=border)
    extents = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], size, strides)]
    taps = itertools.product(*map(range, size))
    return np.stack(
        [
            x[(slice(None), slice(None), *(slice(t, t + (e - 1) * s + 1, s) for t, e, s in zip(tap, extents, strides)))]
            for tap in taps
        ]
    )


def least(dtype):
    return -np.inf if dtype.startswith("float") else np.iinfo(dtype).min


SHAPES = {  # data, size, strides, padding
    "padded, two apart": ((1, 3, 23, 37), (3, 3), (2, 2), (1, 1)),
    "padded, side by side": ((2, 5, 13, 13), (5, 5), (1, 1), (2, 2)),
    "more at one end": ((1, 4, 11, 40), (3, 2), (1, 3), (0, 0, 2, 1)),
    "two by two": ((1, 2, 18, 36), (2, 2), (2, 2), (0, 0)),
    "narrower than a vector": ((1, 6, 9, 7), (3, 3), (1, 1), (1, 1)),
    "far apart": ((1, 2, 30, 90), (3, 3), (4, 5), (1, 1)),
    "a line": ((1, 4, 61), (3,), (1,), (1,)),
    "a volume": ((1, 2, 6, 11, 19), (3, 2, 3), (2, 1, 1), (1, 0, 1)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, size, strides, padding", SHAPES.values(), ids=SHAPES)
def test_the_greatest_and_the_mean_of_windows(shape, size, strides, padding, target):
    data = numbers(shape)
    x = relay.var("x", shape=shape)
    how = {"pool_size": size, "strides": strides, "padding": padding}
    op = lambda name: getattr(relay.nn, f"{name}_pool{len(size)}d")
    got = run(relay.Function([x], op("max")(x, **how)), {"x": data}, target)
    np.testing.assert_array_equal(got, windows(data, size, strides, padding, -np.inf).max(0))
    for counts_border in (False, True):
        ones = windows(np.ones_like(data), size, strides, padding, int(counts_border))
        mean = op("avg")(x, count_include_pad=counts_border, **how)
        want = windows(data, size, strides, padding, 0).sum(0) / ones.sum(0)
        np.testing.assert_allclose(run(relay.Function([x], mean), {"x": data}, target), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int8", "uint8"])
def test_other_types_of_elements(dtype):
    data = numbers((1, 3, 14, 35), dtype)
    x = relay.var("x", shape=data.shape, dtype=dtype)
    got = run(relay.Function([x], relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1))), {"x": data})
    np.testing.assert_array_equal(got, windows(data, (3, 3), (2, 2), (1, 1), least(dtype)).max(0))


@pytest.mark.parametrize("layout, channels", [("NHWC", 20), ("NHWC", 32), ("NCHW16c", 32), ("NCHW8c", 24)])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_channels_that_lie_together_are_the_vectors(layout, channels, strides):
    data = numbers((1, channels, 12, 15))
    x = relay.var("x", shape=data.shape)
    inside = relay.layout_transform(x, "NCHW", layout)
    y = relay.nn.avg_pool2d(inside, (3, 3), strides, padding=(1, 1), layout=layout, count_include_pad=True)
    got = run(relay.Function([x], relay.layout_transform(y, layout, "NCHW")), {"x": data})
    want = windows(data, (3, 3), strides, (1, 1), 0).sum(0) / 9
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_what_stands_before_and_after_is_part_of_the_nest():
    """A sum with another tensor may be stored in its memory, so that no element of it may be added twice."""
    data = {"x": numbers((1, 4, 13, 21)), "z": numbers((1, 4, 13, 21)) + 1}
    x, z = (relay.var(name, shape=value.shape) for name, value in data.items())
    y = relay.nn.max_pool2d(relay.nn.relu(x), (3, 3), (1, 1), padding=(1, 1))
    got = run(relay.Function([x, z], relay.nn.relu(y + relay.exp(z * relay.const(0.01)))), data)
    want = windows(np.maximum(data["x"], 0), (3, 3), (1, 1), (1, 1), -np.inf).max(0) + np.exp(data["z"] * 0.01)
    np.testing.assert_allclose(got, np.maximum(want, 0), rtol=1e-5)


def test_a_border_of_another_number():
    data = numbers((1, 4, 13, 21)) - 100
    x = relay.var("x", shape=data.shape)
    padded = relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), -80.0)
    for op, want in {
        "max": windows(data, (3, 3), (2, 2), (1, 1), -80).max(0),
        "avg": windows(data, (3, 3), (2, 2), (1, 1), -80).mean(0),
    }.items():
        y = getattr(relay.nn, f"{op}_pool2d")(padded, (3, 3), (2, 2))
        np.testing.assert_allclose(run(relay.Function([x], y), {"x": data}), want, rtol=1e-5)


def test_rows_inside_have_no_conditions():
    x = relay.var("x", shape=(1, 8, 112, 112))
    seen = []

    def look(function, _mod, _ctx):
        seen.append(str(function))
        return function

    passes = [(3, tvm.tir.transform.prim_func_pass(look, opt_level=0, name="look"))]
    with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": passes}):
        body = relay.Function([x], relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1)))
        relay.build(tvm.IRModule.from_expr(body), "llvm -mcpu=skylake-avx512")
    (text,) = [text for text in seen if "max_pool2d" in text]
    inside = text[text.index("if (") : text.index("} else {")]
    assert inside.count("ramp(") >= 4 and "if_then_else" not in inside
    assert "pad_temp" not in text
