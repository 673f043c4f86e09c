"""What moves elements or works on each alone: vectors of neighbours, whatever the extents, against NumPy."""

import numpy as np
import pytest
import tessera
from kernel_checks import rules
from tessera import relay
from tessera.contrib import graph_executor

TARGETS = ["llvm", "llvm -mcpu=haswell"]


def built(expr, inputs, target="llvm"):
    module = tessera.IRModule.from_expr(relay.Function(inputs, expr))
    with tessera.transform.PassContext(opt_level=3):
        return relay.build(module, target)


def run(library, *values):
    executor = graph_executor.GraphModule(library["default"](tessera.cpu()))
    for i, value in enumerate(values):
        executor.set_input(i, value)
    executor.run()
    return executor.get_output(0).numpy()


def numbers(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def space_to_depth(x, n):
    b, c, h, w = x.shape
    return x.reshape(b, c, h // n, n, w // n, n).transpose(0, 3, 5, 1, 2, 4).reshape(b, c * n * n, h // n, w // n)


CASES = {
    "rows of one piece": ((8, 6, 7, 5), lambda x: relay.transpose(x, (1, 0, 2, 3)), lambda x: x.transpose(1, 0, 2, 3)),
    "three axes of one piece": ((33, 6, 7, 5, 3), lambda x: x + relay.const(1.0), lambda x: x + 1),
    "one number for each of many rows": (
        (40, 14, 14),
        lambda x: x * relay.const(numbers(40, 1, 1)),
        lambda x: x * numbers(40, 1, 1),
    ),
    "again and again": ((16, 28, 28), lambda x: relay.tile(x, (1, 2, 3)), lambda x: np.tile(x, (1, 2, 3))),
    "again and again, odd": ((5, 17, 21), lambda x: relay.tile(x, (2, 3, 2)), lambda x: np.tile(x, (2, 3, 2))),
    "steps": (
        (8, 31, 56),
        lambda x: relay.strided_slice(x, [0, 1, 1], [8, 31, 56], [1, 2, 2]),
        lambda x: x[:, 1:31:2, 1:56:2],
    ),
    "backwards": ((30, 56), lambda x: relay.reverse(x, axis=1), lambda x: x[:, ::-1]),
    "blocks to channels": (
        (1, 6, 112, 112),
        lambda x: relay.nn.space_to_depth(x, 2),
        lambda x: space_to_depth(x, 2),
    ),
    "edges": (
        (3, 30, 37),
        lambda x: relay.nn.pad(x, ((0, 0), (2, 1), (3, 4)), 7.0),
        lambda x: np.pad(x, ((0, 0), (2, 1), (3, 4)), constant_values=7.0),
    ),
    "mirrored edges": (
        (3, 30, 37),
        lambda x: relay.nn.pad(x, ((0, 0), (2, 1), (3, 4)), pad_mode="reflect"),
        lambda x: np.pad(x, ((0, 0), (2, 1), (3, 4)), mode="reflect"),
    ),
    "repeated edges": (
        (3, 30, 37),
        lambda x: relay.nn.pad(x, ((1, 0), (2, 1), (0, 4)), pad_mode="edge"),
        lambda x: np.pad(x, ((1, 0), (2, 1), (0, 4)), mode="edge"),
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_elements_agree_with_numpy(name, target):
    shape, make, want = CASES[name]
    value, x = numbers(*shape), relay.var("x", shape=shape)
    np.testing.assert_array_equal(run(built(make(x), [x], target), value), want(value))


@pytest.mark.parametrize("name", ["again and again", "steps", "blocks to channels", "rows of one piece"])
def test_no_lane_is_read_alone(name):
    shape, make, _ = CASES[name]
    x = relay.var("x", shape=shape)
    text = built(make(x), [x], "llvm -mcpu=skylake-avx512").get_lib().get_source("asm")
    assert "gather" not in text and "vinsertps" not in text


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rows_that_an_index_names_are_read_by_vectors(dtype):
    x, i = relay.var("x", shape=(50, 96)), relay.var("i", shape=(64,), dtype=dtype)
    library = built(relay.take(x, i, axis=0), [x, i], "llvm -mcpu=skylake-avx512")
    assert "gather" not in library.get_lib().get_source("asm")
    indices = np.random.default_rng(3).integers(0, 50, 64).astype(dtype)
    got = run(built(relay.take(x, i, axis=0), [x, i]), numbers(50, 96), indices)
    np.testing.assert_array_equal(got, numbers(50, 96)[indices])


def test_channels_are_shuffled_by_whole_images():
    """A concatenation that reshapes take apart: a nest for each part, not a choice for each element."""
    a, b = (relay.var(name, shape=(1, 58, 28, 28)) for name in "ab")
    both = relay.reshape(relay.concatenate([a, b], 1), (1, 2, 58, 28, 28))
    body = relay.reshape(relay.transpose(both, (0, 2, 1, 3, 4)), (1, 116, 28, 28))
    assert rules(relay.Function([a, b], body), "llvm -mcpu=skylake-avx512") == ["concatenate"]
    x, y = numbers(1, 58, 28, 28), -numbers(1, 58, 28, 28)
    want = np.stack([x, y], 2).reshape(1, 116, 28, 28)
    for target in TARGETS:
        np.testing.assert_array_equal(run(built(body, [a, b], target), x, y), want)
