"""Extents that are known only at run time: convolutions and pools lie in blocks of channels as others do, matmuls have
tiles, and one program answers for every extent."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.runtime import vm
from test_blocked_conv import blocked_text, reference

ANY = relay.Any()
EXTENTS = [(1, 14, 14), (2, 7, 9), (1, 8, 1), (1, 1, 23), (3, 5, 6), (1, 6, 5), (0, 7, 7), (1, 9, 4)]


def values(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype("float32")


def compiled(function, target="llvm"):
    with tvm.transform.PassContext(opt_level=3):
        return vm.VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(function), target), tvm.cpu())


CASES = {
    "1x1": ((64, 32, 1, 1), {}),
    "1x1 strided": ((48, 32, 1, 1), {"strides": (2, 2)}),
    "3x3": ((32, 16, 3, 3), {"padding": (1, 1, 1, 1)}),
    "3x3 with uneven borders": ((32, 16, 3, 3), {"padding": (0, 2, 2, 1), "strides": (2, 1)}),
    "3x3 dilated": ((16, 16, 3, 3), {"padding": (2, 2, 2, 2), "dilation": (2, 2)}),
    "a first layer": ((32, 3, 7, 7), {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    "each channel alone": ((32, 1, 3, 3), {"padding": (1, 1, 1, 1), "groups": 32}),
    "each channel alone, strided": ((24, 1, 5, 5), {"padding": (2, 2, 2, 2), "groups": 24, "strides": (2, 2)}),
    "groups": ((32, 8, 3, 3), {"padding": (1, 1, 1, 1), "groups": 4}),
    "channels of no vector": ((6, 5, 3, 3), {"padding": (1, 1, 1, 1)}),
}


def conv_of(weight, options):
    outs = weight.shape[0]
    bias = values(outs, 1, 1, seed=7)

    def make(x):
        y = relay.nn.conv2d(x, relay.const(weight), channels=outs, kernel_size=weight.shape[2:], **options)
        return relay.nn.relu(y + relay.const(bias))

    def want(x):
        return np.maximum(reference(x, weight, **options) + bias, 0)

    return make, want


@pytest.mark.parametrize("name", CASES)
def test_a_convolution_of_dynamic_extents_is_right_whatever_they_are(name):
    weight, options = values(*CASES[name][0], seed=3), CASES[name][1]
    make, want = conv_of(weight, options)
    channels = weight.shape[1] * options.get("groups", 1)
    x = relay.var("x", shape=(ANY, channels, ANY, ANY))
    program = compiled(relay.Function([x], make(x)))
    for batch, height, width in EXTENTS:
        data = values(batch, channels, height, width)
        got = program.run(data).numpy()
        expected = want(data)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["3x3", "each channel alone", "1x1"])
def test_a_convolution_of_a_dynamic_batch_is_right(name):
    weight, options = values(*CASES[name][0], seed=3), CASES[name][1]
    make, want = conv_of(weight, options)
    channels = weight.shape[1] * options.get("groups", 1)
    x = relay.var("x", shape=(ANY, channels, 9, 11))
    program = compiled(relay.Function([x], make(x)))
    for batch in (1, 3, 0, 2):
        data = values(batch, channels, 9, 11)
        np.testing.assert_allclose(program.run(data).numpy(), want(data), rtol=1e-4, atol=1e-4)


def test_dynamic_extents_do_not_keep_channels_from_blocks():
    x = relay.var("x", shape=(ANY, 32, ANY, ANY))
    make, _ = conv_of(values(64, 32, 3, 3), {"padding": (1, 1, 1, 1)})
    text = blocked_text(relay.Function([x], relay.nn.max_pool2d(make(x), (3, 3), strides=(2, 2))))
    assert "nn.contrib_conv2d_winograd" in text
    assert text.count("layout_transform") == 2 + 2, text  # of the image, the weight, the bias and the answer


def test_channels_that_only_the_weight_knows_are_checked_and_blocked():
    x = relay.var("x", shape=(1, ANY, ANY, 14))
    make, want = conv_of(values(32, 16, 3, 3), {"padding": (1, 1, 1, 1)})
    assert "nn.contrib_conv2d_NCHWc" in blocked_text(relay.Function([x], make(x)))
    program = compiled(relay.Function([x], make(x)))
    data = values(1, 16, 9, 14)
    np.testing.assert_allclose(program.run(data).numpy(), want(data), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="do not fit together"):
        program.run(values(1, 8, 9, 14))


POOLS = {
    "maximum": lambda x: relay.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)),
    "mean": lambda x: relay.nn.avg_pool2d(x, (2, 2), strides=(2, 2), padding=(1, 1)),
    "of all": relay.nn.global_avg_pool2d,
}


@pytest.mark.parametrize("name", POOLS)
def test_the_epilogue_of_a_convolution_of_dynamic_extents_agrees_with_fixed_ones(name):
    """A small network: a residual connection, a pool, another convolution and a matmul at its end."""
    first, second, last = values(32, 3, 3, 3), values(32, 32, 3, 3, seed=1) * 0.1, values(10, 32)

    def make(x):
        y = relay.nn.relu(relay.nn.conv2d(x, relay.const(first), padding=(1, 1)))
        y = y + relay.nn.conv2d(y, relay.const(second), padding=(1, 1))
        y = relay.nn.conv2d(POOLS[name](y), relay.const(second), padding=(1, 1))
        return relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), relay.const(last))

    x = relay.var("x", shape=(ANY, 3, ANY, ANY))
    program = compiled(relay.Function([x], make(x)))
    for extents in [(1, 16, 16), (2, 9, 13), (1, 2, 3)]:
        data = values(extents[0], 3, *extents[1:])
        y = relay.var("x", shape=data.shape)
        want = compiled(relay.Function([y], make(y))).run(data).numpy()
        np.testing.assert_allclose(program.run(data).numpy(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("units", [2, 8, 10, 24, 91, 160, 1000])
def test_a_matmul_with_a_dynamic_m_has_any_number_of_columns(units):
    weight, bias = values(units, 1024), values(units)
    x = relay.var("x", shape=(ANY, 1024))
    program = compiled(relay.Function([x], relay.nn.dense(x, relay.const(weight)) + relay.const(bias)))
    for rows in (1, 30, 0):
        data = values(rows, 1024)
        np.testing.assert_allclose(program.run(data).numpy(), data @ weight.T + bias, rtol=1e-3, atol=1e-3)


PRODUCTS = {
    "all open": ((ANY, ANY, ANY), (ANY, ANY, ANY), False),
    "rows and depth open": ((ANY, ANY, ANY), (ANY, ANY, 32), False),
    "inner products of rows": ((ANY, ANY, 32), (ANY, ANY, 32), True),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_matmuls_of_two_inputs_of_dynamic_extents(name):
    left, right, is_transposed = PRODUCTS[name]
    x, y = relay.var("x", shape=left), relay.var("y", shape=right)
    program = compiled(relay.Function([x, y], relay.nn.batch_matmul(x, y, transpose_b=is_transposed)))
    for batch, rows, depth, columns in [
        (2, 12, 32, 32),
        (1, 7, 5, 33),
        (3, 1, 1, 1),
        (1, 3, 0, 17),
        (0, 2, 2, 2),
        (2, 0, 3, 4),
    ]:
        depth = 32 if left[2] == 32 else depth
        columns = 32 if right[2] == 32 and not is_transposed else columns
        a, b = values(batch, rows, depth), values(batch, depth, columns, seed=1)
        got = program.run(a, np.ascontiguousarray(b.transpose(0, 2, 1)) if is_transposed else b).numpy()
        assert got.shape == (batch, rows, columns)
        np.testing.assert_allclose(got, a @ b, rtol=1e-4, atol=1e-4)


SHAPES_OF_RANK = {
    1: [(5000,), (7,), (1,), (0,)],
    2: [(40, 300), (1, 1), (3, 0), (0, 5), (1000, 3)],
    3: [(2, 9, 768), (1, 1, 1), (2, 0, 768), (3, 5, 7)],
    4: [(2, 3, 33, 20), (1, 1, 1, 1), (1, 64, 0, 9), (2, 3, 1, 5)],
}


@pytest.mark.parametrize("last", [None, 3, 96])
@pytest.mark.parametrize("rank", SHAPES_OF_RANK)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_reductions_of_all_elements(name, rank, last):
    """By rows, and then over the results of the rows; keepdims or not, with a function of elements before."""
    shape = [relay.Any()] * rank
    if last:
        shape[-1] = last
    x = relay.var("x", shape=tuple(shape))
    reduce = getattr(relay, name)
    body = relay.Tuple([reduce(x), reduce(relay.exp(x), keepdims=True)])
    machine = compiled(relay.Function([x], body))
    for extents in SHAPES_OF_RANK[rank]:
        data = values(*(extents[:-1] + (last or extents[-1],)))
        if data.size == 0 and name != "sum":  # NumPy has no answer
            continue
        got = [out.numpy() for out in machine.run(tvm.nd.array(data))]
        for found, wanted in zip(got, (getattr(data, name)(), getattr(np.exp(data), name)(keepdims=True))):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("channels", [96, 20, 3])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_reductions_over_dynamic_axes_before_channels(name, channels):
    """Sums side by side stay in registers while as many rows go by as there are."""
    reduce, numpy_reduce = getattr(relay, name), getattr(np, name)
    x = relay.var("x", shape=(ANY, ANY, channels))
    outs = [reduce(x, axis=[1], keepdims=True), reduce(x, axis=[0]), relay.nn.relu(reduce(relay.exp(x), axis=[0, 1]))]
    machine = compiled(relay.Function([x], relay.Tuple(outs)))
    for rows, steps in [(2, 77), (1, 1), (1, 300), (3, 2), (0, 5), (4, 0)]:
        data = values(rows, steps, channels)
        if data.size == 0 and name != "sum":
            continue
        got = [out.numpy() for out in machine.run(tvm.nd.array(data))]
        wanted = [numpy_reduce(data, axis=1, keepdims=True), numpy_reduce(data, axis=0)]
        wanted.append(np.maximum(numpy_reduce(np.exp(data), axis=(0, 1)), 0))
        for found, want in zip(got, wanted):
            np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


KEPT_LAST = {
    "channels": ((1, 24, ANY, ANY), (1,)),
    "rows of a matrix": ((40, ANY), (0,)),
    "batch and channels": ((ANY, 12, ANY), (0, 1)),
    "a dynamic axis before a dynamic one": ((ANY, ANY), (0,)),
}


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", KEPT_LAST)
def test_reductions_that_keep_a_dynamic_last_axis(name, keepdims):
    shape, axes = KEPT_LAST[name]
    for dtype, reduce, want in [
        ("float32", relay.sum, np.sum),
        ("uint8", relay.max, np.max),
        ("int8", relay.sum, np.sum),
    ]:
        x = relay.var("x", shape=shape, dtype=dtype)
        wide = relay.cast(x, "int32") if dtype == "int8" else x
        out = reduce(wide, axis=axes, keepdims=keepdims)
        program = compiled(relay.Function([x], out * relay.const(2, "int32" if dtype == "int8" else dtype)))
        for extent in (1, 3, 15, 16, 17, 64, 130):
            given = tuple(extent if isinstance(e, relay.Any) else int(e) for e in shape)
            data = (values(*given) * 20).astype(dtype)
            expected = want(data.astype("int32") if dtype == "int8" else data, axis=axes, keepdims=keepdims) * 2
            np.testing.assert_allclose(
                program.run(data).numpy(), expected.astype("int32" if dtype == "int8" else dtype), rtol=1e-4, atol=1e-4
            )
