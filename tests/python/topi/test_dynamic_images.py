"""Images whose height and width are known only at run time: pools, borders and concatenations take the rules of fixed ones, and one
program answers for every extent, also for none."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from test_blocked_conv import reference
from test_conv_kinds import TARGETS
from test_dynamic_extents import ANY, compiled, values
from test_windows import windows

failures = tvm.get_global_func("kernel.rule_failures")
EXTENTS = [(1, 17, 23), (2, 56, 40), (1, 13, 5), (1, 31, 1), (2, 1, 97), (1, 8, 16), (3, 5, 0), (1, 0, 7), (0, 9, 9)]


def rules_of(function):
    """The rules that scheduled the kernels; none of them failed."""
    rules = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def note(program, module, context):
        rules.append(str(dict(program.attrs.items()).get("tessera.schedule_rule", "")))
        return program

    before = failures()
    with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": [(0, note)]}):
        relay.vm.compile(tvm.IRModule.from_expr(function), "llvm")
    assert failures() == before
    return " ".join(rules)


POOLS = {  # size, strides, padding, dilation
    "two by two": ((2, 2), (2, 2), (0, 0), (1, 1)),
    "padded, two apart": ((3, 3), (2, 2), (1, 1), (1, 1)),
    "more at one end": ((3, 2), (1, 3), (0, 0, 2, 1), (1, 1)),
    "wide": ((13, 13), (1, 1), (6, 6), (1, 1)),
    "high": ((11, 3), (2, 1), (5, 1), (1, 1)),
    "dilated": ((3, 3), (1, 1), (2, 2), (2, 2)),
    "dilated in rows": ((3, 2), (2, 2), (2, 0), (2, 1)),
    "dilated and apart": ((2, 3), (2, 2), (1, 2), (3, 2)),
}


def pooled(data, size, strides, padding, dilation, border):
    """The windows of dilated kernels are every so many elements of wider ones."""
    spread = tuple((k - 1) * d + 1 for k, d in zip(size, dilation))
    all_taps = windows(data, spread, strides, padding, border)
    grid = all_taps.reshape(*spread, *all_taps.shape[1:])[:: dilation[0], :: dilation[1]]
    return grid.reshape(size[0] * size[1], *all_taps.shape[1:])


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("target", TARGETS)
def test_pools_of_dynamic_height_and_width(name, target):
    size, strides, padding, dilation = POOLS[name]
    x = relay.var("x", shape=(ANY, 3, ANY, ANY))
    how = {"pool_size": size, "strides": strides, "padding": padding, "dilation": dilation}
    greatest = compiled(relay.Function([x], relay.nn.relu(relay.nn.max_pool2d(x, **how))), target)
    means = {
        border: compiled(relay.Function([x], relay.nn.avg_pool2d(x, count_include_pad=border, **how)), target)
        for border in (False, True)
    }
    for batch, height, width in EXTENTS:
        sides = padding if len(padding) == 4 else (*padding, *padding)
        room = (height + sides[0] + sides[2], width + sides[1] + sides[3])
        if any(r < (k - 1) * d + 1 for r, k, d in zip(room, size, dilation)):
            continue  # no window fits
        data = values(batch, 3, height, width)
        lone = pooled(data, size, strides, padding, dilation, -np.inf).max(0, initial=-np.inf)
        np.testing.assert_array_equal(greatest.run(data).numpy(), np.maximum(lone, 0))
        for border, program in means.items():
            ones = pooled(np.ones_like(data), size, strides, padding, dilation, int(border)).sum(0)
            want = pooled(data, size, strides, padding, dilation, 0).sum(0) / np.maximum(ones, 1)
            np.testing.assert_allclose(program.run(data).numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["wide", "dilated", "padded, two apart"])
def test_pools_of_fixed_extents_take_kernels_of_any_size(name):
    size, strides, padding, dilation = POOLS[name]
    data = values(1, 4, 29, 31)
    x = relay.var("x", shape=data.shape)
    pool = relay.nn.max_pool2d(x, size, strides=strides, padding=padding, dilation=dilation)
    assert "pool" in rules_of(relay.Function([x], pool))
    want = pooled(data, size, strides, padding, dilation, -np.inf).max(0)
    np.testing.assert_array_equal(compiled(relay.Function([x], pool)).run(data).numpy(), want)


@pytest.mark.parametrize("channels", [16, 5])
def test_pools_with_channels_at_the_end(channels):
    x = relay.var("x", shape=(1, ANY, ANY, channels))
    how = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
    program = compiled(relay.Function([x], relay.nn.max_pool2d(x, layout="NHWC", **how)))
    for height, width in [(23, 17), (1, 1), (2, 40)]:
        data = values(1, height, width, channels)
        want = windows(np.moveaxis(data, 3, 1), (3, 3), (2, 2), (1, 1), -np.inf).max(0)
        np.testing.assert_array_equal(program.run(data).numpy(), np.moveaxis(want, 1, 3))


@pytest.mark.parametrize("dtype", ["int8", "float64", "int32"])
def test_pools_of_other_types(dtype):
    x = relay.var("x", shape=(1, 2, ANY, ANY), dtype=dtype)
    program = compiled(relay.Function([x], relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1), ceil_mode=True)))
    for height, width in [(14, 35), (8, 8), (3, 2)]:
        data = (values(1, 2, height, width) * 40).astype(dtype)
        low = -np.inf if dtype == "float64" else np.iinfo(dtype).min
        more = [(height - 1) % 2, (width - 1) % 2]  # room for a last window that sticks out
        want = windows(data, (3, 3), (2, 2), (1, 1, 1 + more[0], 1 + more[1]), low).max(0)
        np.testing.assert_array_equal(program.run(data).numpy(), want)


def test_the_rules_are_those_of_fixed_extents():
    x = relay.var("x", shape=(1, 8, ANY, ANY))
    rules = lambda y: rules_of(relay.Function([x], y))
    assert "pool" in rules(relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1)))
    assert "pad" in rules(relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (2, 1))))
    assert "concatenate" in rules(relay.concatenate([x, relay.nn.relu(x)], 1))
    assert "concatenate" in rules(relay.concatenate([x, relay.nn.relu(x)], 2))


WIDTHS = {
    "rows and columns": ((0, 0), (0, 0), (1, 2), (3, 1)),
    "columns": ((0, 0), (0, 0), (0, 0), (1, 1)),
    "rows": ((0, 0), (0, 0), (2, 0), (0, 0)),
    "channels": ((0, 0), (1, 2), (0, 0), (0, 0)),
}


@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("layout", ["NCHW", "NCHW16c"])
def test_a_border_around_dynamic_images(name, layout):
    more = (16,) if layout == "NCHW16c" else ()
    width = WIDTHS[name] + ((0, 0),) * len(more)
    x = relay.var("x", shape=(ANY, 3, ANY, ANY, *more))
    program = compiled(relay.Function([x], relay.nn.pad(relay.nn.relu(x), width, 2.5)))
    for batch, rows, columns in EXTENTS:
        data = values(batch, 3, rows, columns, *more)
        want = np.pad(np.maximum(data, 0), width, constant_values=2.5)
        np.testing.assert_array_equal(program.run(data).numpy(), want)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_concatenations_of_dynamic_images(axis, count):
    """Extents along the axis differ, and each part may be empty."""
    random = np.random.default_rng(axis * 10 + count)
    inputs = [
        relay.var(f"x{i}", shape=[ANY if d == axis else e for d, e in enumerate((ANY, 3, ANY, ANY))])
        for i in range(count)
    ]
    joined = relay.concatenate([relay.nn.relu(inputs[0]), *inputs[1:]], axis)
    program = compiled(relay.Function(inputs, relay.multiply(joined, relay.const(2.0))))
    for _ in range(6):
        shape = [int(random.choice([1, 2])), 3, *random.choice([1, 7, 16, 33], 2).tolist()]
        parts = []
        for _ in range(count):
            shape[axis] = int(random.choice([0, 1, 3, 17, 32]))
            parts.append(random.standard_normal(shape).astype("float32"))
        want = np.concatenate([np.maximum(parts[0], 0), *parts[1:]], axis) * np.float32(2)
        np.testing.assert_array_equal(program.run(*parts).numpy(), want)


@pytest.mark.parametrize("op", ["mean", "max", "sum"])
def test_reductions_of_whole_images_go_over_one_axis(op):
    for known in ((ANY, 5, ANY, ANY), (2, 5, ANY, ANY), (2, 5, ANY, 7)):
        x = relay.var("x", shape=known)
        for keepdims in (False, True):
            program = compiled(relay.Function([x], getattr(relay, op)(x, axis=[2, 3], keepdims=keepdims)))
            for extents in [(2, 13, 7), (2, 1, 7), (2, 64, 7)]:
                data = values(2, 5, *extents[1:])
                want = getattr(np, op)(data, axis=(2, 3), keepdims=keepdims)
                np.testing.assert_allclose(program.run(data).numpy(), want, rtol=1e-4, atol=1e-5)
    x = relay.var("x", shape=(ANY, 5, ANY, ANY))
    program = compiled(relay.Function([x], relay.sum(x, axis=[2, 3])))
    for extents in [(0, 3, 4), (2, 0, 4), (1, 3, 0)]:
        np.testing.assert_array_equal(
            program.run(values(extents[0], 5, *extents[1:])).numpy(), np.zeros((extents[0], 5))
        )


def test_rows_of_dynamic_length_share_the_memory_of_a_thread():
    """Softmax keeps the powers of a row; results do not depend on who computed a row before."""
    x = relay.var("x", shape=(ANY, ANY))
    program = compiled(relay.Function([x], relay.nn.softmax(x)))
    for shape in [(700, 100), (3, 1), (1, 2049), (40, 16), (0, 5), (9, 33), (5, 0)]:
        data = values(*shape)
        powers = np.exp(data - data.max(-1, initial=-np.inf, keepdims=True))
        np.testing.assert_allclose(
            program.run(data).numpy(), powers / powers.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7
        )


SIDES = [*((target, (1, 1, 1, 1)) for target in TARGETS), ("llvm", (0, 0, 0, 0)), ("llvm", (2, 0, 1, 3))]


@pytest.mark.parametrize("target, padding", SIDES)
def test_winograd_convolutions_of_dynamic_images(target, padding):
    weight, bias = values(32, 64, 3, 3, seed=3) * 0.1, values(32, 1, 1, seed=7)

    def make(x, y):
        out = relay.nn.conv2d(x, relay.const(weight), channels=32, kernel_size=(3, 3), padding=padding)
        return relay.nn.relu(out + relay.const(bias) + y)

    batch = ANY if padding[0] == 1 else 1
    x, y = relay.var("x", shape=(batch, 64, ANY, ANY)), relay.var("y", shape=(1, 32, 1, 1))
    assert "winograd" in rules_of(relay.Function([x, y], make(x, y)))
    program = compiled(relay.Function([x, y], make(x, y)), target)
    for extents in [
        (1, 14, 14),
        (1, 7, 23),
        (2, 13, 5),
        (1, 1, 31),
        (1, 37, 1),
        (1, 8, 12),
        (3, 0, 6),
        (1, 6, 0),
        (0, 8, 8),
    ]:
        room = (extents[1] + padding[0] + padding[2], extents[2] + padding[1] + padding[3])
        if min(room) < 3 or (batch == 1 and extents[0] != 1):
            continue
        data, residual = values(extents[0], 64, *extents[1:]), values(1, 32, 1, 1)
        want = np.maximum(reference(data, weight, padding=padding) + bias + residual, 0)
        np.testing.assert_allclose(program.run(data, residual).numpy(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("batch", [1, ANY])
def test_a_residual_beside_a_convolution_is_as_large_as_its_result(batch):
    """What padding adds and a window takes is known to cancel out: no kernel asks whether the residual is broadcast, and the
    schedule rule of Winograd's convolution holds for images of a batch."""
    weight, bias = values(64, 64, 3, 3) / 24, values(64, 1, 1)
    x = relay.var("x", shape=(batch, 64, ANY, ANY))
    conv = relay.nn.conv2d(x, relay.const(weight), padding=(1, 1), channels=64, kernel_size=(3, 3))
    function = relay.Function([x], relay.nn.relu(relay.add(relay.add(conv, relay.const(bias)), x)))
    rules = rules_of(function)
    assert "winograd" in rules and "extent_versions" not in rules
    assert ("leading_axes" in rules) == (batch is ANY)
    program = compiled(function)
    for count, height, width in [(1, 14, 14), (3, 9, 17), (1, 1, 5), (2, 4, 4), (2, 0, 5)]:
        if batch is not ANY and count != batch:
            continue
        data = values(count, 64, height, width)
        want = np.maximum(reference(data, weight, padding=(1, 1, 1, 1)) + bias + data, 0)
        np.testing.assert_allclose(program.run(data).numpy(), want, rtol=1e-3, atol=1e-3)


def test_convolutions_of_many_channels_and_dynamic_images_are_direct():
    """Each row of tiles would read the transformed weight from memory."""
    x = relay.var("x", shape=(1, 1024, ANY, ANY))
    weight = relay.const(np.zeros((1024, 1024, 3, 3), "float32"))
    conv = relay.nn.conv2d(x, weight, padding=(1, 1), channels=1024, kernel_size=(3, 3))
    assert "winograd" not in rules_of(relay.Function([x], conv))


def test_channels_of_no_vector_are_padded_through_all_layers():
    first, depth, last = values(58, 24, 1, 1) / 5, values(58, 1, 3, 3) / 3, values(58, 58, 1, 1) / 8
    x = relay.var("x", shape=(ANY, 24, ANY, ANY))
    conv = lambda y, w, **more: relay.nn.conv2d(
        y, relay.const(w), channels=58, kernel_size=w.shape[2:], padding=(w.shape[2] // 2,) * 2, **more
    )
    y = relay.nn.relu(conv(x, first))
    function = relay.Function([x], conv(conv(y, depth, groups=58), last))
    program = compiled(function)
    for count, height, width in [(1, 12, 12), (2, 7, 9), (1, 1, 3)]:
        data = values(count, 24, height, width)
        middle = np.maximum(reference(data, first), 0)
        want = reference(reference(middle, depth, padding=(1, 1, 1, 1), groups=58), last)
        np.testing.assert_allclose(program.run(data).numpy(), want, rtol=1e-3, atol=1e-4)
