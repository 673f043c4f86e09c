"""Moves between layouts and of axes: tiles transposed in registers give what NumPy gives, whatever the extents."""

import numpy as np
import pytest
import tessera as tvm
from kernel_checks import rules
from tessera import relay
from tessera.contrib import graph_executor

TARGETS = ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"]


def run(body, x, target):
    data = relay.var("x", shape=x.shape, dtype=str(x.dtype))
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([data], body(data))), target)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(x=x)
    return module.get_output(0).numpy()


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)


SHAPES = [(1, 16, 4, 4), (1, 32, 7, 7), (2, 48, 5, 3), (1, 64, 1, 9), (3, 16, 1, 2), (1, 16, 1, 1), (1, 80, 33, 17)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("block", [4, 8, 16])
def test_channels_go_into_blocks_and_back(shape, block, target):
    x = numbers(shape)
    n, c, h, w = shape
    blocked = x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2)
    name = f"NCHW{block}c"
    got = run(lambda data: relay.layout_transform(data, "NCHW", name), x, target)
    np.testing.assert_array_equal(got, blocked)
    got = run(lambda data: relay.layout_transform(data, name, "NCHW"), np.ascontiguousarray(blocked), target)
    np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((5, 7), None),
        ((64, 64), (1, 0)),
        ((1, 33, 20, 6), (0, 2, 3, 1)),
        ((2, 9, 11, 18), (0, 3, 1, 2)),
        ((3, 4, 5, 16), (0, 3, 1, 2)),
        ((16, 1, 40), (2, 1, 0)),
        ((2, 3, 4, 5), (3, 2, 1, 0)),
        ((6, 10, 12), (1, 2, 0)),
        ((2, 8, 8, 8), (0, 2, 1, 3)),
        ((4, 9, 3), (0, 2, 1)),
    ],
    ids=str,
)
def test_axes_are_permuted(shape, axes, target):
    x = numbers(shape)
    got = run(lambda data: relay.transpose(data, axes), x, target)
    np.testing.assert_array_equal(got, np.transpose(x, axes))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "int32", "int64", "float64", "bool"])
def test_elements_of_any_type_are_moved(dtype):
    x = numbers((2, 32, 9, 10), dtype)
    got = run(lambda data: relay.transpose(data, (0, 2, 3, 1)), x, "llvm")
    np.testing.assert_array_equal(got, x.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("before", [lambda x: x, lambda x: x * x], ids=["given", "computed"])
def test_what_stands_around_a_move_is_computed(before):
    x = numbers((1, 32, 13, 13)) - 100

    def body(data):
        moved = relay.layout_transform(before(data), "NCHW", "NHWC")
        return relay.reshape(relay.nn.relu(moved - relay.const(5.0)), (13, -1))

    want = np.maximum(before(x).transpose(0, 2, 3, 1) - 5, 0).reshape(13, -1)
    np.testing.assert_array_equal(run(body, x, "llvm"), want)


def test_tiles_are_moved_by_shuffles():
    data = relay.var("x", shape=(1, 64, 56, 56))
    mod = tvm.IRModule.from_expr(relay.Function([data], relay.layout_transform(data, "NCHW", "NCHW16c")))
    with tvm.transform.PassContext(opt_level=3):
        text = relay.build(mod, "llvm -mcpu=skylake-avx512").lib.get_source("asm")
    assert text.count("vpermt2") + text.count("vunpck") + text.count("vshuf") >= 48
    assert "vinsertps" not in text


def test_a_tensor_of_unknown_extent_is_moved():
    data = relay.var("x", shape=(relay.Any(), 8))
    mod = tvm.IRModule.from_expr(relay.Function([data], relay.transpose(data)))
    model = tvm.Model(relay.vm.compile(mod, "llvm"))
    x = numbers((11, 8))
    np.testing.assert_array_equal(model.run(x)[0].numpy(), x.T)


def test_axes_of_16_bit_floats_are_permuted():
    x = numbers((1, 64, 32))
    data = relay.var("x", shape=x.shape)
    body = relay.cast(relay.transpose(relay.annotation.stop_fusion(relay.cast(data, "bfloat16")), (0, 2, 1)), "float32")
    model = tvm.Model(relay.build(tvm.IRModule.from_expr(relay.Function([data], body)), "llvm"))
    np.testing.assert_array_equal(model.run(x)[0].numpy(), x.transpose(0, 2, 1))


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_of_what_was_moved(target):
    """The tiles write all of the tensor, though only a part of it is read."""
    x = numbers((3, 20, 8))
    got = run(lambda data: relay.strided_slice(relay.transpose(data, (2, 0, 1)), [1, 0, 2], [7, 3, 18]), x, target)
    np.testing.assert_array_equal(got, x.transpose(2, 0, 1)[1:7, 0:3, 2:18])


def test_a_move_and_its_way_back_are_no_move():
    """Channels in blocks, then last: vectors are read and written as they lie, and no tile is transposed."""
    data = relay.var("x", shape=(1, 4, 14, 14, 16))
    plain = relay.layout_transform(data, "NCHW16c", "NCHW")
    body = relay.transpose(relay.reshape(plain, (1, 64, 196)), (0, 2, 1))
    assert rules(relay.Function([data], relay.erf(body)), "llvm -mcpu=skylake-avx512") == ["elements"]
    x = numbers((1, 4, 14, 14, 16))
    got = run(
        lambda x: relay.transpose(relay.reshape(relay.layout_transform(x, "NCHW16c", "NCHW"), (1, 64, 196)), (0, 2, 1)),
        x,
        "llvm",
    )
    np.testing.assert_array_equal(got, x.transpose(0, 2, 3, 1, 4).reshape(1, 196, 64))


@pytest.mark.parametrize("extents", [(49, 96), (48, 96), (17, 20), (5, 5), (128, 1)], ids=str)
def test_what_is_added_may_be_overwritten(extents):
    """The other operand lies as the result does, and the result may lie in its memory: tiles must not overlap then."""
    x, y = numbers(extents), numbers(extents[::-1]) - 7
    a, b = relay.var("a", shape=x.shape), relay.var("b", shape=y.shape)
    chain = relay.annotation.stop_fusion(relay.exp(b * relay.const(0.01)))
    body = relay.Function([a, b], relay.transpose(a) + chain)
    with tvm.transform.PassContext(opt_level=3):
        model = tvm.Model(relay.build(tvm.IRModule.from_expr(body), "llvm"))
    np.testing.assert_allclose(model.run(x, y)[0].numpy(), x.T + np.exp(y * np.float32(0.01)), rtol=1e-5)


def random_chain(seed):
    """Reshapes, permutations, concatenations and arithmetic: in Relay, in NumPy, and a tensor for it."""
    draw = np.random.RandomState(seed)
    shape = tuple(int(n) for n in draw.choice([1, 2, 3, 4, 6, 8, 16, 20], size=draw.randint(2, 5)))
    steps, now = [], shape
    for _ in range(draw.randint(2, 6)):
        kind = draw.choice(["permute", "reshape", "split", "concatenate", "compute"])
        if kind == "permute":
            axes = tuple(int(axis) for axis in draw.permutation(len(now)))
            steps.append((lambda x, a=axes: relay.transpose(x, a), lambda x, a=axes: x.transpose(a)))
            now = tuple(now[axis] for axis in axes)
        elif kind == "reshape" and len(now) > 2:
            at = int(draw.randint(len(now) - 1))
            now = (*now[:at], now[at] * now[at + 1], *now[at + 2 :])
            steps.append((lambda x, s=now: relay.reshape(x, s), lambda x, s=now: x.reshape(s)))
        elif kind == "split" and len(now) < 6:
            at = int(draw.randint(len(now)))
            divisor = int(draw.choice([n for n in range(1, now[at] + 1) if now[at] % n == 0]))
            now = (*now[:at], divisor, now[at] // divisor, *now[at + 1 :])
            steps.append((lambda x, s=now: relay.reshape(x, s), lambda x, s=now: x.reshape(s)))
        elif kind == "concatenate":
            at = int(draw.randint(len(now)))
            steps.append(
                (
                    lambda x, a=at: relay.concatenate([x, x * relay.const(2.0)], a),
                    lambda x, a=at: np.concatenate([x, x * 2], a),
                )
            )
            now = (*now[:at], now[at] * 2, *now[at + 1 :])
        else:
            steps.append((lambda x: relay.nn.relu(x - relay.const(3.0)), lambda x: np.maximum(x - 3, 0)))
    return shape, steps


@pytest.mark.parametrize("seed", range(40))
def test_random_chains_of_moves(seed):
    shape, steps = random_chain(seed)
    x = numbers(shape)

    def chain(value, which):
        for step in steps:
            value = step[which](value)
        return value

    got = run(lambda data: chain(data, 0), x, TARGETS[seed % len(TARGETS)])
    np.testing.assert_array_equal(got, chain(x, 1))
