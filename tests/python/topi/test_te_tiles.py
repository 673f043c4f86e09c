"""Schedules of topi for CPUs: what they compute is what the plain loops of the same program do, and how."""

import re

import numpy as np
import pytest
import tessera as tvm
from tessera import te, topi


def tensors(*shapes, dtype="float32"):
    return [te.placeholder(shape, dtype, name=f"p{i}") for i, shape in enumerate(shapes)]


def conv(layout, data, weight, *options, then=lambda out: out):
    a, w = tensors(data, weight)
    return [a, w], then(getattr(topi.nn, f"conv2d_{layout}")(a, w, *options))


def of(compute, *shapes, dtype="float32"):
    inputs = tensors(*shapes, dtype=dtype)
    return inputs, compute(*inputs)


def layer_norm(x):
    mean = topi.divide(topi.sum(x, axis=-1, keepdims=True), float(x.shape[-1]))
    square = topi.sum(topi.multiply(topi.subtract(x, mean), topi.subtract(x, mean)), axis=-1, keepdims=True)
    return topi.divide(topi.subtract(x, mean), topi.sqrt(topi.add(square, 1e-5)))


PROGRAMS = {
    "conv2d_nchw": lambda: conv("nchw", (1, 8, 14, 16), (16, 8, 3, 3), 1, 1, 1, then=topi.nn.relu),
    "conv2d_nchw of seven": lambda: conv("nchw", (2, 3, 7, 7), (5, 3, 3, 3), 1, 1, 1),
    "conv2d_nchw with strides": lambda: conv("nchw", (1, 4, 16, 16), (8, 4, 3, 3), 2, 1, 1, then=topi.tanh),
    "conv2d_nhwc": lambda: conv("nhwc", (1, 7, 9, 8), (3, 3, 8, 32), 1, 1, 1, then=topi.nn.relu),
    "conv2d_hwcn": lambda: conv("hwcn", (7, 7, 4, 8), (3, 3, 4, 8), 1, 1, 1),
    "group_conv2d": lambda: of(
        lambda a, w: topi.nn.group_conv2d_nchw(a, w, 1, 1, 1, 2, "float32"), (1, 8, 8, 8), (16, 4, 3, 3)
    ),
    "depthwise": lambda: of(lambda a, w: topi.nn.depthwise_conv2d_nchw(a, w, 1, 1, 1), (1, 6, 12, 12), (6, 1, 3, 3)),
    "dense": lambda: of(topi.nn.dense, (12, 64), (40, 64)),
    "dense of odd extents": lambda: of(topi.nn.dense, (3, 13), (5, 13)),
    "dense and relu": lambda: of(lambda a, w: topi.nn.relu(topi.nn.dense(a, w)), (9, 32), (20, 32)),
    "dense of one row": lambda: of(topi.nn.dense, (1, 256), (10, 256)),
    "dense and what reads it twice": lambda: of(
        lambda a, w: topi.multiply(topi.nn.dense(a, w), topi.sigmoid(topi.nn.dense(a, w))), (8, 32), (16, 32)
    ),
    "dense transposed": lambda: of(lambda a, w: topi.transpose(topi.nn.dense(a, w), (1, 0)), (8, 32), (16, 32)),
    "matmul": lambda: of(topi.nn.matmul, (24, 40), (40, 48)),
    "batch_matmul": lambda: of(topi.nn.batch_matmul, (3, 10, 32), (3, 12, 32)),
    "dense of int8": lambda: of(lambda a, w: topi.nn.dense(a, w, out_dtype="int32"), (8, 64), (16, 64), dtype="int8"),
    "dense of float64": lambda: of(topi.nn.dense, (8, 24), (6, 24), dtype="float64"),
    "softmax": lambda: of(topi.nn.softmax, (6, 48)),
    "softmax of images": lambda: of(lambda x: topi.nn.softmax(x, axis=-1), (2, 3, 4, 20)),
    "softmax of the first axis": lambda: of(lambda x: topi.nn.softmax(x, axis=0), (16, 8)),
    "log_softmax": lambda: of(topi.nn.log_softmax, (6, 48)),
    "layer_norm": lambda: of(layer_norm, (5, 64)),
    "layer_norm of odd rows": lambda: of(layer_norm, (5, 17)),
    "sum of rows": lambda: of(lambda x: topi.sum(x, axis=1), (6, 100)),
    "sum of columns": lambda: of(lambda x: topi.sum(x, axis=0), (100, 24)),
    "sum of the middle": lambda: of(lambda x: topi.sum(x, axis=1, keepdims=True), (4, 10, 16)),
    "sum of a sum": lambda: of(lambda x: topi.sum(topi.sum(x, axis=2), axis=1), (4, 8, 16)),
    "maximum of all": lambda: of(topi.max, (16, 32)),
    "argmax": lambda: of(lambda x: topi.argmax(x, axis=1), (6, 32)),
    "max_pool": lambda: of(lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"), (1, 4, 16, 16)),
    "avg_pool": lambda: of(lambda x: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "avg"), (1, 4, 8, 8)),
    "global pool": lambda: of(lambda x: topi.nn.adaptive_pool(x, (1, 1), "avg"), (1, 6, 8, 8)),
    "element by element": lambda: of(lambda x: topi.exp(topi.add(x, 1.0)), (6, 40)),
}


def run(schedule, inputs, out, target, values):
    outs = out if isinstance(out, list) else [out]
    mod = tvm.build(schedule, [*inputs, *outs], target)
    result = [tvm.nd.array(np.zeros([int(n) for n in each.shape], each.dtype)) for each in outs]
    mod(*values, *result)
    return [each.numpy() for each in result]


def random_values(inputs):
    rng = np.random.default_rng(3)
    whole = [rng.integers(-20, 20, [int(n) for n in each.shape]) for each in inputs]
    scale = 1 if "int" in inputs[0].dtype else 8
    return [tvm.nd.array((each / scale).astype(t.dtype)) for each, t in zip(whole, inputs)]


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_schedule_computes_what_plain_loops_do(name, target):
    inputs, out = PROGRAMS[name]()
    with tvm.target.Target(target):
        schedule = topi.x86.schedule_injective([out])
    values = random_values(inputs)
    got = run(schedule, inputs, out, target, values)
    wanted = run(te.create_schedule(out.op), inputs, out, "llvm", values)
    for a, b in zip(got, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def lowered(name, target="llvm -mcpu=x86-64-v3"):
    inputs, out = PROGRAMS[name]()
    with tvm.target.Target(target):
        schedule = topi.x86.schedule_conv2d_nchw([out])
    return str(tvm.lower(schedule, [*inputs, out], simple_mode=True))


@pytest.mark.parametrize("name", ["conv2d_nhwc", "matmul", "dense and relu", "batch_matmul"])
def test_sums_stay_in_local_memory_by_vectors_while_they_grow(name):
    text = lowered(name)
    assert "storage_scope = local" in text and "parallel" in text and "ramp(" in text


def test_an_epilogue_has_no_memory_for_what_it_reads():
    assert lowered("conv2d_nhwc").count("storage_scope = global") == 1  # the image with its border


def test_rows_of_a_softmax_stay_together():
    inputs, out = of(topi.nn.softmax, (600, 48))
    with tvm.target.Target("llvm -mcpu=x86-64-v3"):
        schedule = topi.x86.schedule_softmax(out)
    text = str(tvm.lower(schedule, [*inputs, out], simple_mode=True))
    extents = [int(extent) for extent in re.findall(r"allocate\(.*\[(\d+)\]\)", text)]
    assert text.count("parallel") == 1 and extents and max(extents) <= 48


def test_extents_that_a_run_decides_are_taken():
    n = te.var("n")
    a, w = te.placeholder((n, 32), name="a"), te.placeholder((16, 32), name="w")
    out = topi.nn.relu(topi.nn.dense(a, w))
    mod = tvm.build(topi.x86.schedule_dense_nopack([out]), [a, w, out], "llvm")
    x, y = (np.random.default_rng(1).standard_normal(s).astype("float32") for s in ((7, 32), (16, 32)))
    result = tvm.nd.array(np.zeros((7, 16), "float32"))
    mod(tvm.nd.array(x), tvm.nd.array(y), result)
    np.testing.assert_allclose(result.numpy(), np.maximum(x @ y.T, 0), rtol=1e-4, atol=1e-5)
