"""WidenFloats: fp16 and bf16 are computed with as fp32 on CPUs; inputs, results and casts keep their types."""

import ml_dtypes
import numpy as np
import pytest
import tessera
from kernel_checks import run
from pass_checks import check
from tessera import relay

WIDEN = tessera.get_global_func("relay._transform.WidenFloats")
NARROW = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def wide(x):
    return relay.cast(x, "float32")


def test_inputs_and_results_keep_their_types():
    x, w = relay.var("x", shape=(2, 4), dtype="float16"), relay.var("w", shape=(3, 4), dtype="float16")
    before = relay.nn.relu(relay.nn.dense(x, w))
    after = relay.cast(relay.nn.relu(relay.nn.dense(wide(x), wide(w))), "float16")
    check(WIDEN(), relay.Function([x, w], before), relay.Function([x, w], after), rtol=1e-2)


def test_tuples_are_widened_item_by_item():
    x = relay.var("x", shape=(2, 4), dtype="bfloat16")
    y = relay.var("y", shape=(2, 4), dtype="int32")
    halves = relay.split(x, 2, axis=1)
    before = relay.Function([x, y], relay.Tuple([halves[0] + halves[1], y + y]))
    halves = relay.split(wide(x), 2, axis=1)
    after = relay.Function([x, y], relay.Tuple([relay.cast(halves[0] + halves[1], "bfloat16"), y + y]))
    check(WIDEN(), before, after, rtol=1e-2)


def test_a_cast_of_the_program_still_rounds():
    x = relay.var("x", shape=(4,), dtype="float32")
    before = relay.cast(relay.exp(relay.cast(x, "float16")), "float32")
    after = relay.exp(wide(relay.cast(x, "float16")))
    check(WIDEN(), before, after, rtol=1e-2)


def test_the_type_of_a_result_that_an_attribute_names_is_widened():
    x = relay.var("x", shape=(2, 4), dtype="float16")
    before = relay.nn.dense(x, relay.zeros((3, 4), "float16"), out_dtype="float16")
    after = relay.cast(relay.nn.dense(wide(x), relay.zeros((3, 4), "float32"), out_dtype="float32"), "float16")
    check(WIDEN(), before, after, rtol=1e-2)


def test_what_is_no_function_of_numbers_gets_its_own_type():
    x = relay.var("x", shape=(4,), dtype="float16")
    before = relay.sort(relay.exp(x))
    after = relay.cast(wide(relay.sort(relay.cast(relay.exp(wide(x)), "float16"))), "float16")
    check(WIDEN(), before, after, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_other_types_stay(dtype):
    x = relay.var("x", shape=(4,), dtype=dtype)
    check(WIDEN(), relay.abs(x))


def attention(x, constant):
    scores = relay.nn.softmax(relay.nn.batch_matmul(x, x))
    values = relay.nn.batch_matmul(scores, x, transpose_b=False)
    return [relay.nn.matmul(values, relay.transpose(constant(32, 16)))]


def network(x, constant):
    w, g, b = constant(16, 8, 3, 3), constant(16), constant(16)
    y = relay.nn.conv2d(relay.reshape(x, (2, 8, 4, 4)), w, padding=(1, 1), channels=16, kernel_size=(3, 3))
    y = relay.nn.relu(relay.nn.bias_add(y, b))
    y = relay.nn.max_pool2d(y, (2, 2), (2, 2)) * relay.reshape(g, (16, 1, 1))
    return [relay.mean(y, axis=[2, 3]), relay.nn.layer_norm(relay.reshape(y, (2, 4, 16)), g, b)]


@pytest.mark.parametrize("dtype", list(NARROW))
@pytest.mark.parametrize("make", [attention, network])
def test_results_are_those_of_float32_rounded(make, dtype):
    data = np.random.RandomState(1).uniform(-1, 1, (2, 8, 16)).astype(NARROW[dtype])

    def outputs(kind):
        random = np.random.RandomState(0)

        def constant(*shape):
            values = random.uniform(-1, 1, shape).astype(NARROW[dtype])
            return relay.const(tessera.nd.array(values.astype(kind)))

        x = relay.var("x", shape=data.shape, dtype=str(kind))
        given = [tessera.nd.array(data.astype(kind))]
        return [run(relay.Function([x], out), given) for out in make(x, constant)]

    for got, want in zip(outputs(NARROW[dtype]), outputs(np.dtype("float32"))):
        want = want.astype(NARROW[dtype])
        assert got.dtype == want.dtype
        apart = np.abs(got.astype("float32") - want.astype("float32")).max()
        assert apart <= EPSILON[dtype] * np.abs(want.astype("float32")).max()


@pytest.mark.parametrize("dtype", list(NARROW))
def test_casts_go_by_vectors_and_round_to_even(dtype):
    values = np.random.RandomState(0).standard_normal(1000).astype("float32") * 100
    values[:6] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-6]
    x = relay.var("x", shape=values.shape)
    got = run(relay.Function([x], relay.cast(x, dtype)), [values])
    np.testing.assert_array_equal(got.astype("float32"), values.astype(NARROW[dtype]).astype("float32"))
    y = relay.var("y", shape=values.shape, dtype=dtype)
    back = run(relay.Function([y], relay.cast(y, "float32")), [tessera.nd.array(got)])
    np.testing.assert_array_equal(back, got.astype("float32"))


def each_channel_alone(dtype, channels, strides):
    """A convolution of each channel alone, of data that the program has rounded."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, channels, 9, 11), dtype="float32")
    weight = relay.const(rng.standard_normal((channels, 1, 3, 3)).astype("float32"))
    data = wide(relay.cast(relay.nn.relu(x), dtype))
    window = {"kernel_size": (3, 3), "strides": strides, "padding": (1, 1), "channels": channels, "groups": channels}
    return relay.Function([x], relay.nn.conv2d(data, weight, **window)), data.args[0], weight, window


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_data_that_a_program_rounds_goes_to_depthwise_convolutions_in_16_bits(dtype):
    before, narrow, weight, window = each_channel_alone(dtype, 16, (1, 1))
    after = relay.Function(before.params, relay.nn.conv2d(narrow, weight, out_dtype="float32", **window))
    check(WIDEN(), before, after, target="llvm -mcpu=cascadelake", rtol=1e-2)


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("channels", [5, 16, 24])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_depthwise_convolutions_of_16_bits_compute_in_float32(dtype, channels, strides):
    function, _, weight, _ = each_channel_alone(dtype, channels, strides)
    x = np.random.default_rng(1).standard_normal((1, channels, 9, 11)).astype("float32")
    rounded = np.maximum(x, 0).astype(NARROW[dtype]).astype("float64")
    padded = np.pad(rounded, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, :: strides[0], :: strides[1]]
    wanted = np.einsum("bcijkl,cokl->bcij", windows, weight.data.numpy().astype("float64"))
    found = run(function, [x])
    error = 1e-5 if channels > 8 else 2 * EPSILON[dtype]  # in one kernel with its producer the data may stay unrounded
    np.testing.assert_allclose(found, wanted, rtol=error, atol=error)
