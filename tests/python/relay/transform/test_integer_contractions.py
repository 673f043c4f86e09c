"""The pass IntegerProducts: contractions of dequantised tensors are computed from their integers.

Scales are powers of two, so that floats are exact and results are compared for equality with NumPy's integers.
"""

import numpy as np
import pytest
import tessera
from tessera import relay

RNG = np.random.default_rng
TARGETS = ["llvm", "llvm -mcpu=haswell"]  # this machine's instructions; pairs of 16 bits with AVX2


def has_avx2():
    return "avx2" in tessera.get_global_func("topi.cpu.machine_of")(tessera.target.Target("llvm")).features


pytestmark = pytest.mark.skipif(not has_avx2(), reason="this machine has no dot products of int8 that are known here")


def build(expr, target="llvm", off=()):
    mod = tessera.IRModule.from_expr(expr)
    with tessera.transform.PassContext(opt_level=3, disabled_pass=list(off)):
        return relay.build(mod, target)


def run(expr, inputs, target="llvm", off=()):
    model = tessera.Model(build(expr, target, off))
    return [out.numpy() for out in model.run({name: tessera.nd.array(value) for name, value in inputs.items()})][0]


def optimized(expr, target="llvm"):
    with tessera.transform.PassContext(opt_level=3):
        return relay.optimize(tessera.IRModule.from_expr(expr), target)[0].astext(show_meta_data=False)


def real(x, scale, zero, axis=-1):
    return relay.qnn.op.dequantize(x, relay.const(np.float32(scale)), relay.const(zero), axis)


def even(x, scale, zero, dtype):
    """quantize that rounds to the even number, as models from ONNX do."""
    attrs = tessera.ir.make_node("relay.attrs.QuantizeAttrs", out_dtype=dtype, axis=-1, rounding="TOEVEN")
    return relay.Call(tessera.ir.Op.get("qnn.quantize"), [x, relay.const(np.float32(scale)), relay.const(zero)], attrs)


def quantized(x, scale, zero, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.round(x / scale) + zero, info.min, info.max).astype(dtype)


def convolve(x, w, stride, padding, dilation, groups):
    """Sums of products of (1, c, h, w) and (o, c / groups, kh, kw) in int64."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    outs, ins, height, width = w.shape
    rows = (x.shape[2] - (height - 1) * dilation - 1) // stride + 1
    columns = (x.shape[3] - (width - 1) * dilation - 1) // stride + 1
    out = np.zeros((1, outs, rows, columns), "int64")
    for o in range(outs):
        first = o // (outs // groups) * ins
        for i in range(height):
            for j in range(width):
                part = x[
                    0,
                    first : first + ins,
                    i * dilation : i * dilation + (rows - 1) * stride + 1 : stride,
                    j * dilation : j * dilation + (columns - 1) * stride + 1 : stride,
                ]
                out[0, o] += np.tensordot(w[o, :, i, j], part, 1)
    return out


CONVOLUTIONS = {  # channels, pixels, results, kernel_size, stride, padding, dilation, groups
    "1x1": (32, 9, 48, 1, 1, 0, 1, 1),
    "3x3": (16, 10, 32, 3, 1, 1, 1, 1),
    "3x3_strided": (32, 11, 16, 3, 2, 1, 1, 1),
    "first_layer": (3, 17, 32, 7, 2, 3, 1, 1),
    "odd_channels": (21, 6, 16, 3, 1, 0, 1, 1),
    "dilated": (8, 12, 16, 3, 1, 2, 2, 1),
    "by_channel": (32, 9, 32, 3, 1, 1, 1, 32),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 131), ("int8", -128), ("int8", 7)])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_are_those_of_integers(case, dtype, zero, target):
    channels, pixels, results, kernel_size, stride, padding, dilation, groups = CONVOLUTIONS[case]
    rng = RNG(1)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, (1, channels, pixels, pixels)).astype(dtype)
    w = rng.integers(-128, 128, (results, channels // groups, kernel_size, kernel_size)).astype("int8")
    scales = 2.0 ** rng.integers(-9, -4, results).astype("float32")
    data = relay.var("x", shape=x.shape, dtype=dtype)
    weight = relay.qnn.op.dequantize(
        relay.const(w), relay.const(scales), relay.const(np.zeros(results, "int32")), axis=0
    )
    product = relay.nn.conv2d(
        real(data, 0.25, zero),
        weight,
        strides=(stride, stride),
        padding=(padding, padding),
        dilation=(dilation, dilation),
        groups=groups,
        channels=results,
        kernel_size=(kernel_size, kernel_size),
    )
    sums = convolve(x.astype("int64") - zero, w.astype("int64"), stride, padding, dilation, groups)
    values = sums * 0.25 * scales[:, None, None]
    step = 2.0 ** np.round(np.log2(values.std() / 60))
    want = quantized(values, step, 100, "uint8")
    assert want.std() > 30 and (want.min() == 0 or want.max() == 255)  # many values, some out of the range
    out = even(product, step, 100, "uint8")
    assert 'out_dtype="int32"' in optimized(out, target)
    np.testing.assert_array_equal(run(out, {"x": x}, target), want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zero", [0, 77])
@pytest.mark.parametrize(
    "rows, depth, units", [(1, 512, 1000), (128, 768, 96), (5, 36, 33), (17, 2052, 64), (9, 147, 40)]
)
def test_packed_matmul_are_those_of_integers(rows, depth, units, zero, target):
    rng = RNG(2)
    x = rng.integers(0, 256, (rows, depth)).astype("uint8")
    w = rng.integers(-128, 128, (units, depth)).astype("int8")
    scales = 2.0 ** rng.integers(-9, -4, units).astype("float32")
    data = relay.var("x", shape=x.shape, dtype="uint8")
    zeros = relay.const(np.zeros(units, "int32"))
    sums = (x.astype("int64") - zero) @ w.astype("int64").T
    want = (sums * 0.5 * scales).astype("float32")
    by_rows = relay.qnn.op.dequantize(relay.const(w), relay.const(scales), zeros, axis=0)
    by_columns = relay.qnn.op.dequantize(relay.const(w.T.copy()), relay.const(scales), zeros, axis=1)
    for product in (
        relay.nn.dense(real(data, 0.5, zero), by_rows),
        relay.nn.matmul(real(data, 0.5, zero), by_columns),
        relay.nn.matmul(real(data, 0.5, zero), relay.transpose(by_rows)),
    ):
        np.testing.assert_array_equal(run(product, {"x": x}, target), want)


def residual_block(x, w, dtype="uint8"):
    """Two convolutions whose results are added up; all results quantised."""
    data = relay.var("x", shape=x.shape, dtype=dtype)
    weight = relay.qnn.op.dequantize(relay.const(w), relay.const(np.float32(0.03)), relay.const(0))
    conv = lambda y: relay.nn.conv2d(y, weight, padding=(1, 1), channels=w.shape[0], kernel_size=(3, 3))
    bias = relay.const(RNG(4).normal(size=w.shape[0]).astype("float32"))
    shift = -128 if dtype == "int8" else 0
    first = even(relay.nn.relu(relay.nn.bias_add(conv(real(data, 0.1, 3 + shift)), bias)), 0.7, shift, dtype)
    second = even(conv(real(first, 0.7, shift)), 2.1, 128 + shift, dtype)
    total = even(relay.nn.relu(relay.add(real(second, 2.1, 128 + shift), real(first, 0.7, shift))), 1.3, shift, dtype)
    pooled = relay.nn.max_pool2d(real(total, 1.3, shift), (3, 3), strides=(2, 2), padding=(1, 1))
    return even(pooled, 1.3, shift, dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_block_of_a_network_is_as_in_floats(dtype):
    rng = RNG(3)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, (1, 32, 14, 14)).astype(dtype)
    w = rng.integers(-127, 128, (32, 32, 3, 3)).astype("int8")
    block = residual_block(x, w, dtype)
    got, floats = run(block, {"x": x}).astype("int32"), run(block, {"x": x}, off=["IntegerProducts"]).astype("int32")
    assert got.std() > 20
    apart = np.abs(got - floats)
    assert apart.max() <= 1 and (apart > 0).mean() < 0.01  # halfway is rounded one way or the other


def test_nothing_but_integers_lies_between_the_layers():
    x, w = np.zeros((1, 32, 14, 14), "int8"), np.ones((32, 32, 3, 3), "int8")
    text = optimized(residual_block(x, w, "int8"))
    results = [line.split("->")[1].split("{")[0] for line in text.splitlines() if "= fn (" in line]
    assert sum("uint8" in result for result in results) >= 3
    assert not any("float32" in result or "int32" in result for result in results)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = RNG(5)
    x = rng.integers(0, 256, (1, 32, 28, 28)).astype("uint8")
    w = rng.integers(-127, 128, (32, 32, 3, 3)).astype("int8")
    model = tessera.Model(build(residual_block(x, w)))
    configure = tessera.get_global_func("runtime.config_threadpool")
    answers = []
    for threads in (1, 2, 3):
        configure(1, threads)
        answers.append(model.run({"x": tessera.nd.array(x)})[0].numpy())
    configure(1, 0)
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize("reason", ["weight_zero_point", "weight_is_an_input", "grouped", "no_instructions"])
def test_other_contractions_stay_in_floats(reason):
    data = relay.var("x", shape=(1, 32, 8, 8), dtype="uint8")
    groups = 2 if reason == "grouped" else 1
    w = RNG(6).integers(-128, 128, (32, 32 // groups, 1, 1)).astype("int8")
    weight = relay.var("w", shape=w.shape, dtype="int8") if reason == "weight_is_an_input" else relay.const(w)
    zero = 3 if reason == "weight_zero_point" else 0
    product = relay.nn.conv2d(
        real(data, 0.5, 2), real(weight, 0.5, zero), channels=32, kernel_size=(1, 1), groups=groups
    )
    target = "llvm -mcpu=x86-64" if reason == "no_instructions" else "llvm"
    assert 'out_dtype="int32"' not in optimized(product, target)
    if reason in ("weight_zero_point", "grouped"):
        x = RNG(7).integers(0, 256, (1, 32, 8, 8)).astype("uint8")
        sums = convolve(x.astype("int64") - 2, w.astype("int64") - zero, 1, 0, 1, groups)
        np.testing.assert_allclose(run(product, {"x": x}), sums * 0.25, rtol=1e-5)
