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


def dynamic_along(x, axis, indices, weights):
    """`along` by variables: weights of rows have a one for the columns."""
    parts = [relay.take(x, index, axis=axis) for index in indices]
    if weights:
        parts = [part * (weight if axis == 3 else relay.expand_dims(weight, 1)) for part, weight in zip(parts, weights)]
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def dynamic_tables(name, indices, weights):
    """Variables for tables of any length."""
    return (
        [relay.var(f"{name}{i}", shape=(relay.Any(),), dtype="int64") for i in range(len(indices))],
        [relay.var(f"{name}_weight{i}", shape=(relay.Any(),)) for i in range(len(weights))],
    )


def compiled(params, body, target="llvm"):
    with tessera.transform.PassContext(opt_level=3):
        built = relay.vm.compile(tessera.IRModule.from_expr(relay.Function(params, body)), target)
    return built, tessera.runtime.vm.VirtualMachine(built, tessera.cpu())


def called(machine, *values):
    return machine.invoke("main", *(tessera.nd.array(value) for value in values)).numpy()


SIZES = [
    ((5, 7), (10, 14)),
    ((3, 16), (6, 33)),
    ((4, 28), (9, 57)),
    ((9, 53), (7, 31)),
    ((6, 40), (3, 11)),
    ((2, 3), (1, 1)),
]


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"])
@pytest.mark.parametrize("has_rows", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_one_program_for_all_extents(count, has_rows, target):
    x = relay.var("x", shape=(2, relay.Any(), relay.Any(), relay.Any()))
    shape = ([None] * count, [None] * count if count > 1 else [])
    rows, columns = dynamic_tables("r", *shape), dynamic_tables("c", *shape)
    params = [x, *(rows[0] + rows[1] if has_rows else []), *columns[0], *columns[1]]
    body = dynamic_along(dynamic_along(x, 2, *rows) if has_rows else x, 3, *columns)
    built, machine = compiled(params, body, target)
    assert sum("take" in name for name in built.primitive_ops if not name.startswith("shape_func")) == 1
    for (height, width), (to_height, to_width) in SIZES:
        random = np.random.RandomState(height * width + count)
        data = random.uniform(-1, 1, (2, 3, height, width)).astype("float32")
        down, across = taps(random, to_height, height, count), taps(random, to_width, width, count)
        want = expected(expected(data, 2, *down) if has_rows else data, 3, *across)
        tables = [*(down[0] + down[1] if has_rows else []), *across[0], *across[1]]
        np.testing.assert_allclose(called(machine, data, *tables), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
def test_indices_of_a_run_may_be_anywhere(target):
    x, at = relay.var("x", shape=(3, relay.Any())), relay.var("at", shape=(relay.Any(),), dtype="int64")
    _, machine = compiled([x, at], relay.take(x, at, axis=1), target)
    random = np.random.RandomState(0)
    for width in (5, 31, 32, 33, 500):
        data = random.uniform(-1, 1, (3, width)).astype("float32")
        indices = [
            np.arange(-9, width + 9),
            np.arange(width)[::-1].copy(),
            random.permutation(width),
            np.full(40, width - 1),
        ]
        indices += [np.arange(17) * (width // 17), np.zeros(3, "int64"), np.array([], "int64")]
        for index in indices:
            np.testing.assert_array_equal(called(machine, data, index), np.take(data, index, axis=1, mode="clip"))


def test_a_weight_of_a_run_is_broadcast():
    x, at = relay.var("x", shape=(3, relay.Any())), relay.var("at", shape=(relay.Any(),), dtype="int64")
    weight = relay.var("weight", shape=(relay.Any(),))
    _, machine = compiled([x, at, weight], relay.take(x, at, axis=1) * weight)
    data = np.random.RandomState(0).uniform(-1, 1, (3, 40)).astype("float32")
    for indices, weights in ((np.arange(40), [2]), ([7], np.arange(35)), (np.arange(20), np.arange(20))):
        weights = np.array(weights, "float32")
        want = np.take(data, indices, axis=1) * weights
        np.testing.assert_array_equal(called(machine, data, np.array(indices), weights), want)


def test_indices_of_a_run_keep_the_mode_of_take():
    x, at = relay.var("x", shape=(3, relay.Any())), relay.var("at", shape=(relay.Any(),), dtype="int64")
    _, machine = compiled([x, at], relay.take(x, at, axis=1, mode="wrap"))
    data, indices = np.random.RandomState(0).uniform(-1, 1, (3, 20)).astype("float32"), np.arange(-3, 22)
    np.testing.assert_array_equal(called(machine, data, indices), np.take(data, indices, axis=1, mode="wrap"))
