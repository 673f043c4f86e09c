"""The operators under qnn: integers that stand for real numbers."""

import numpy as np
import pytest
import tessera
from tessera import relay


def run(expr, *inputs, opt_level=3, target="llvm"):
    mod = tessera.IRModule.from_expr(expr)
    with tessera.transform.PassContext(opt_level=opt_level):
        return relay.create_executor("graph", mod, tessera.cpu(), target).evaluate()(*inputs).numpy()


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("dtype, zero", [("uint8", 3), ("int8", -5), ("int16", 0)])
def test_quantize_rounds_and_stays_in_the_range(dtype, zero, opt_level):
    x = np.array([-1e6, -3.3, -0.25, 0.0, 0.24, 1.0, 63.0, 1e6], "float32")
    data = relay.var("x", shape=x.shape)
    out = run(relay.qnn.op.quantize(data, relay.const(0.5), relay.const(zero), out_dtype=dtype), x, opt_level=opt_level)
    info = np.iinfo(dtype)
    away = np.sign(x) * np.floor(np.abs(x / np.float32(0.5)) + 0.5)
    np.testing.assert_array_equal(out, np.clip(away + zero, info.min, info.max).astype(dtype))


def test_scales_and_zero_points_of_an_axis():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    scale, zero = np.array([0.5, 0.25, 2.0], "float32"), np.array([0, 10, -7], "int32")
    data = relay.var("x", shape=x.shape)
    whole = relay.qnn.op.quantize(data, relay.const(scale), relay.const(zero), axis=1)
    got = run(relay.qnn.op.dequantize(whole, relay.const(scale), relay.const(zero), axis=1), x)
    step = scale[:, None]
    want = (np.clip(np.round(x / step) + zero[:, None], -128, 127) - zero[:, None]) * step
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_a_scale_that_fits_no_axis_is_rejected():
    data = relay.var("x", shape=(2, 3))
    call = relay.qnn.op.quantize(data, relay.const(np.ones(4, "float32")), relay.const(0), axis=1)
    with pytest.raises(Exception, match="an element for each index along axis 1"):
        relay.transform.InferType()(tessera.IRModule.from_expr(call))


def test_what_is_no_integer_stands_for_nothing():
    call = relay.qnn.op.dequantize(relay.var("x", shape=(2, 3)), relay.const(1.0), relay.const(0))
    with pytest.raises(Exception, match="must be integers"):
        relay.transform.InferType()(tessera.IRModule.from_expr(call))


def test_round_to_even():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999998], "float32")
    data = relay.var("x", shape=x.shape)
    out = run(relay.Call(tessera.ir.Op.get("round_to_even"), [data]), x)
    np.testing.assert_array_equal(out, np.round(x))


# ---- what is computed with integers ---------------------------------------------------------------------------------

NUMBER = relay.const
INT8 = np.iinfo("int8")


def integers(seed, shape, dtype="int8"):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def as_int8(values):
    return np.clip(values, INT8.min, INT8.max)


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])  # in integers; in floats
@pytest.mark.parametrize("rounding", ["None", "UPWARD", "TONEAREST"])
def test_requantize_changes_scale_and_zero_point(rounding, target):
    x = np.arange(-300, 301, dtype="int32")
    data = relay.var("x", shape=x.shape, dtype="int32")
    call = relay.qnn.op.requantize(data, NUMBER(0.5), NUMBER(1), NUMBER(2.0), NUMBER(-3), rounding=rounding)
    real = (x - 1) / 4
    whole = np.sign(real) * np.floor(np.abs(real) + 0.5) if rounding == "TONEAREST" else np.floor(real + 0.5)
    np.testing.assert_array_equal(run(call, x, target=target), as_int8(whole - 3))


def test_requantize_with_a_scale_for_each_channel():
    x = integers(1, (2, 3, 5)).astype("int32") * 100
    data = relay.var("x", shape=x.shape, dtype="int32")
    scales = np.array([0.25, 0.5, 0.125], "float32")
    call = relay.qnn.op.requantize(data, NUMBER(scales), NUMBER(0), NUMBER(16.0), NUMBER(5), axis=1)
    np.testing.assert_array_equal(run(call, x), as_int8(np.floor(x * scales[:, None] / 16 + 0.5) + 5))


@pytest.mark.parametrize("x_zero, w_zero", [(0, 0), (7, 0), (-4, 3)])
@pytest.mark.parametrize("layouts", [("NCHW", "OIHW"), ("NHWC", "HWIO")])
def test_convolution_of_integers(x_zero, w_zero, layouts):
    x, w = integers(2, (1, 4, 6, 6)), integers(3, (8, 4, 3, 3))
    padded = np.pad(x.astype("int64") - x_zero, [(0, 0), (0, 0), (1, 1), (1, 1)])
    want = np.zeros((1, 8, 6, 6), "int64")
    for i in range(3):
        for j in range(3):
            want += np.einsum(
                "ncyx,oc->noyx", padded[:, :, i : i + 6, j : j + 6], w[:, :, i, j].astype("int64") - w_zero
            )
    if layouts[0] == "NHWC":
        x, w, want = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), want.transpose(0, 2, 3, 1)
    data, weight = relay.var("x", shape=x.shape, dtype="int8"), relay.var("w", shape=w.shape, dtype="int8")
    affine = [NUMBER(x_zero), NUMBER(w_zero), NUMBER(0.5), NUMBER(0.25)]
    call = relay.qnn.op.conv2d(
        data, weight, *affine, (3, 3), 8, padding=(1, 1), data_layout=layouts[0], kernel_layout=layouts[1]
    )
    np.testing.assert_array_equal(run(call, x, w), want)


@pytest.mark.parametrize("x_zero, w_zero", [(0, 0), (7, 0), (-4, 3)])
def test_transposed_convolution_of_integers(x_zero, w_zero):
    x, w = integers(2, (1, 4, 3, 5)), integers(3, (4, 2, 3, 3))
    spread = np.zeros((1, 2, 8, 12), "int64")
    for i, j in np.ndindex(3, 3):
        taps = w[:, :, i, j].astype("int64") - w_zero
        spread[:, :, i : i + 5 : 2, j : j + 9 : 2] += np.einsum("ncyx,co->noyx", x.astype("int64") - x_zero, taps)
    data, weight = relay.var("x", shape=x.shape, dtype="int8"), relay.var("w", shape=w.shape, dtype="int8")
    affine = [NUMBER(x_zero), NUMBER(w_zero), NUMBER(0.5), NUMBER(0.25)]
    options = {"kernel_size": (3, 3), "channels": 2, "strides": (2, 2), "padding": (1, 1), "output_padding": (1, 1)}
    call = relay.qnn.op.conv2d_transpose(data, weight, *affine, **options)
    for opt_level in (0, 3):
        np.testing.assert_array_equal(run(call, x, w, opt_level=opt_level), spread[:, :, 1:7, 1:11])
    constant = relay.qnn.op.conv2d_transpose(NUMBER(x), NUMBER(w), *affine, **options)
    np.testing.assert_array_equal(run(relay.Function([], constant)), spread[:, :, 1:7, 1:11])


@pytest.mark.parametrize("dtype", ["disable", "int8", "uint8", "int32"])
def test_simulated_integers_are_those_of_the_type(dtype):
    x = np.random.default_rng(0).normal(scale=90, size=(2, 3, 4)).astype("float32")
    scale, zero = np.array([0.5, 0.25, 2.0], "float32"), np.array([0, 10, -7], "int32")
    data, kind = relay.var("x", shape=x.shape), relay.var("kind", shape=(), dtype="int32")
    affine = [NUMBER(scale), NUMBER(zero), 1]
    whole = relay.qnn.op.simulated_quantize(data, *affine, out_dtype=kind)
    back = relay.qnn.op.simulated_dequantize(relay.var("y", shape=x.shape), *affine, in_dtype=dtype)
    code = np.array(tessera.topi.nn.SQNN_DTYPE_TO_CODE[dtype], "int32")
    got = run(relay.Function([data, kind], whole), x, code)
    if dtype == "disable":
        np.testing.assert_array_equal(got, x)
        np.testing.assert_array_equal(run(back, x), x)
        return
    real = relay.qnn.op.quantize(data, *affine, out_dtype=dtype)
    np.testing.assert_array_equal(got, run(real, x).astype("float32"))
    np.testing.assert_allclose(run(back, got), (got - zero[:, None]) * scale[:, None], rtol=1e-6)


def test_a_type_that_is_not_simulated_is_said_so():
    with pytest.raises(ValueError, match="int16 is not simulated; the types are disable, int8, uint8, int32"):
        relay.qnn.op.simulated_quantize(relay.var("x", shape=(3,)), NUMBER(1.0), NUMBER(0), out_dtype="int16")


@pytest.mark.parametrize("x_zero, y_zero", [(0, 0), (5, 0), (0, -2), (3, 9)])
def test_packed_matmul_of_integers(x_zero, y_zero):
    affine = [NUMBER(x_zero), NUMBER(y_zero), NUMBER(0.5), NUMBER(0.25)]
    x, w = integers(4, (3, 8), "uint8"), integers(5, (5, 8))
    data, weight = relay.var("x", shape=x.shape, dtype="uint8"), relay.var("w", shape=w.shape, dtype="int8")
    want = (x.astype("int64") - x_zero) @ (w.astype("int64") - y_zero).T
    np.testing.assert_array_equal(run(relay.qnn.op.dense(data, weight, *affine, units=5), x, w), want)
    x, y = integers(6, (2, 3, 4)), integers(7, (2, 5, 4))
    left, right = relay.var("x", shape=x.shape, dtype="int8"), relay.var("y", shape=y.shape, dtype="int8")
    want = (x.astype("int64") - x_zero) @ (y.astype("int64") - y_zero).transpose(0, 2, 1)
    np.testing.assert_array_equal(run(relay.qnn.op.batch_matmul(left, right, *affine), x, y), want)


@pytest.mark.parametrize("name, real", [("add", np.add), ("subtract", np.subtract), ("mul", np.multiply)])
def test_sums_and_products_are_those_of_the_real_numbers(name, real):
    x, y = integers(8, (4, 30)), integers(9, (30,))
    left, right = relay.var("x", shape=x.shape, dtype="int8"), relay.var("y", shape=y.shape, dtype="int8")
    step = 8.0 if name == "mul" else 0.5
    affine = [NUMBER(0.25), NUMBER(3), NUMBER(0.5), NUMBER(-2), NUMBER(step), NUMBER(4)]
    got = run(getattr(relay.qnn.op, name)(left, right, *affine), x, y).astype("int32")
    want = as_int8(real((x.astype("float64") - 3) * 0.25, (y.astype("float64") + 2) * 0.5) / step + 4)
    assert np.abs(got - want).max() <= 1 and want.std() > 20


def test_parts_of_different_scales_are_concatenated():
    x, y = integers(10, (2, 3), "uint8"), integers(11, (2, 4), "uint8")
    parts = [relay.var("x", shape=x.shape, dtype="uint8"), relay.var("y", shape=y.shape, dtype="uint8")]
    call = relay.qnn.op.concatenate(
        parts, [NUMBER(0.5), NUMBER(0.25)], [NUMBER(0), NUMBER(1)], NUMBER(0.5), NUMBER(0), 1
    )
    second = np.clip(np.floor((y.astype("int32") - 1) / 2 + 0.5), 0, 255)
    np.testing.assert_array_equal(run(call, x, y), np.concatenate([x, second], 1))


@pytest.mark.parametrize(
    "name, real",
    [
        ("tanh", np.tanh),
        ("exp", np.exp),
        ("abs", np.abs),
        ("sigmoid", lambda v: 1 / (1 + np.exp(-v))),
        ("hardswish", lambda v: v * np.clip(v + 3, 0, 6) / 6),
    ],
)
def test_functions_go_by_the_real_numbers(name, real):
    x = np.arange(-128, 128).astype("int8")
    data = relay.var("x", shape=x.shape, dtype="int8")
    got = run(getattr(relay.qnn.op, name)(data, NUMBER(0.05), NUMBER(10), NUMBER(0.04), NUMBER(-6)), x)
    want = as_int8(np.round(real((x.astype("float64") - 10) * np.float32(0.05)) / np.float32(0.04)) - 6)
    assert np.abs(got.astype("int32") - want).max() <= 1


def test_leaky_relu_of_integers():
    x = np.arange(-128, 128).astype("int8")
    data = relay.var("x", shape=x.shape, dtype="int8")
    got = run(relay.qnn.op.leaky_relu(data, 0.25, NUMBER(0.5), NUMBER(10), NUMBER(0.25), NUMBER(-6)), x)
    real = (x.astype("float64") - 10) * 0.5
    want = as_int8(np.round(np.where(real < 0, real * 0.25, real) / 0.25) - 6)
    assert np.abs(got.astype("int32") - want).max() <= 1


@pytest.mark.parametrize("kind", ["vm", "debug"])
@pytest.mark.parametrize("operator", ["simulated_quantize", "simulated_dequantize"])
def test_simulated_scales_are_one_or_one_for_each_at_run_time(kind, operator):
    x = relay.var("x", shape=(2, 3))
    scale = relay.var("scale", shape=(relay.Any(),))
    zero = relay.var("zero", shape=(relay.Any(),), dtype="int32")
    call = getattr(relay.qnn.op, operator)(x, scale, zero, 1, "int8")
    run = relay.create_executor(kind, tessera.IRModule.from_expr(relay.Function([x, scale, zero], call))).evaluate()
    data = np.array([[1, 2, 3], [-4, 5, 6]], "float32")
    for scales in ([0.5], [0.5, 1, 2]):
        s, z = np.array(scales, "float32"), np.arange(len(scales)).astype("int32")
        wanted = np.clip(np.round(data / s) + z, -128, 127) if operator == "simulated_quantize" else (data - z) * s
        np.testing.assert_allclose(run(data, s, z).numpy(), wanted)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_number_is_requantised_to_a_number(shape):
    scale, zero = NUMBER(np.full(shape, 0.5, "float32")), NUMBER(np.full(shape, 3, "int32"))
    call = relay.qnn.op.requantize(relay.var("x", shape=(), dtype="int32"), scale, zero, NUMBER(0.25), NUMBER(1))
    got = run(call, np.array(10, "int32"))
    assert got.shape == () and got == 15


def test_one_scale_serves_a_dynamic_extent():
    x = relay.var("x", shape=(2, relay.Any()))
    scale, zero = NUMBER(np.array([0.5], "float32")), NUMBER(np.array([1], "int32"))
    call = relay.qnn.op.simulated_quantize(x, scale, zero, 1, "int8")
    run = relay.create_executor("vm", tessera.IRModule.from_expr(relay.Function([x], call))).evaluate()
    np.testing.assert_array_equal(run(np.ones((2, 3), "float32")).numpy(), np.full((2, 3), 3))
