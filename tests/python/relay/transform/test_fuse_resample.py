"""FuseResample: images of another size are one kernel that reads by vectors, whatever indices and weights are."""

import json

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import graph_executor


def taps(random, size, extent, count):
    """Indices that wander over the extent, and weights unless one index says it all."""
    step = extent / size
    first = np.floor(np.arange(size) * step + random.uniform(-1, 1)).astype("int64")
    indices = [np.clip(first + i, 0, extent - 1) for i in range(count)]
    weights = [] if count == 1 else [random.uniform(-1, 1, size).astype("float32") for _ in range(count)]
    return indices, weights


def along(x, axis, indices, weights):
    shape = [1] * 4
    shape[axis] = -1
    parts = [relay.take(x, relay.const(index), axis=axis) for index in indices]
    if weights:
        parts = [part * relay.const(weight.reshape(shape)) for part, weight in zip(parts, weights)]
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def expected(x, axis, indices, weights):
    shape = [1] * 4
    shape[axis] = -1
    parts = [np.take(x, index, axis=axis) for index in indices]
    if weights:
        parts = [part * weight.reshape(shape) for part, weight in zip(parts, weights)]
    return sum(parts[1:], parts[0])


def build(function, target="llvm"):
    with tessera.transform.PassContext(opt_level=3):
        return relay.build(tessera.IRModule.from_expr(function), target)


def kernels(built):
    nodes = json.loads(built.get_graph_json())["nodes"]
    return [node["attrs"]["func_name"] for node in nodes if node["op"] != "null"]


def run(built, x):
    executor = graph_executor.GraphModule(built["default"](tessera.cpu()))
    executor.set_input("x", x)
    executor.run()
    return executor.get_output(0).numpy()


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(
    "size", [((5, 7), (10, 14)), ((3, 16), (6, 32)), ((4, 28), (9, 56)), ((9, 53), (7, 31)), ((6, 40), (3, 11))]
)
def test_rows_and_columns_are_one_kernel(size, count, target):
    (height, width), (to_height, to_width) = size
    random = np.random.RandomState(height * width + count)
    data = random.uniform(-1, 1, (2, 3, height, width)).astype("float32")
    rows, columns = taps(random, to_height, height, count), taps(random, to_width, width, count)
    x = relay.var("x", shape=data.shape)
    built = build(relay.Function([x], along(along(x, 2, *rows), 3, *columns)), target)
    assert len(kernels(built)) == 1
    want = expected(expected(data, 2, *rows), 3, *columns)
    np.testing.assert_allclose(run(built, data), want, rtol=1e-5, atol=1e-5)


def test_columns_alone_and_what_follows_them():
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (1, 2, 5, 20)).astype("float32")
    columns = taps(random, 40, 20, 2)
    x = relay.var("x", shape=data.shape)
    built = build(relay.Function([x], relay.nn.relu(along(x, 3, *columns))))
    np.testing.assert_allclose(run(built, data), np.maximum(expected(data, 3, *columns), 0), rtol=1e-5, atol=1e-5)


def test_rows_that_others_read_too_stay_in_memory():
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (1, 2, 5, 20)).astype("float32")
    rows, columns = taps(random, 10, 5, 1), taps(random, 40, 20, 1)
    x = relay.var("x", shape=data.shape)
    tall = along(x, 2, *rows)
    built = build(relay.Function([x], relay.Tuple([along(tall, 3, *columns), relay.exp(tall)])))
    np.testing.assert_array_equal(run(built, data), expected(expected(data, 2, *rows), 3, *columns))


def test_indices_far_apart_are_gathered():
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (1, 2, 3, 4000)).astype("float32")
    columns = [random.permutation(4000)[:64].astype("int64")], []
    x = relay.var("x", shape=data.shape)
    built = build(relay.Function([x], along(x, 3, *columns)))
    np.testing.assert_array_equal(run(built, data), expected(data, 3, *columns))


def test_indices_outside_keep_the_mode_of_take():
    data = np.arange(40, dtype="float32").reshape(1, 1, 2, 20)
    indices = np.arange(-3, 22)
    x = relay.var("x", shape=data.shape)
    built = build(relay.Function([x], relay.take(x, relay.const(indices), axis=3, mode="wrap")))
    np.testing.assert_array_equal(run(built, data), np.take(data, indices, axis=3, mode="wrap"))
