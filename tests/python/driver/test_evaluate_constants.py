"""Operators on constants are computed while compiling by loops of the compiler, with what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def folded(expr: relay.Expr) -> np.ndarray:
    """The constant that FoldConstant leaves of an expression."""
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([], expr)))
    body = relay.transform.FoldConstant()(mod)["main"].body
    assert isinstance(body, relay.Constant), body
    return body.data.numpy()


def const(value: np.ndarray) -> relay.Expr:
    return relay.const(value, str(value.dtype))


MOVES = {
    "a transpose": (lambda x: relay.transpose(x, (2, 0, 1, 3)), lambda x: x.transpose(2, 0, 1, 3)),
    "a transpose without axes": (lambda x: relay.transpose(x), lambda x: x.T),
    "a transpose with negative axes": (lambda x: relay.transpose(x, (-1, 0, -3, 2)), lambda x: x.transpose(3, 0, 1, 2)),
    "blocks of channels": (
        lambda x: relay.layout_transform(x, "OIHW", "OIHW4i8o"),
        lambda x: x.reshape(4, 8, 3, 4, 2, 5).transpose(0, 2, 4, 5, 3, 1),
    ),
    "blocks of blocks": (
        lambda x: relay.layout_transform(x, "OIHW", "OIHW2i8o2i"),
        lambda x: x.reshape(4, 8, 3, 2, 2, 2, 5).transpose(0, 2, 5, 6, 3, 1, 4),
    ),
    "padding": (
        lambda x: relay.nn.pad(x, ((0, 1), (2, 0), (0, 0), (1, 1)), 3.5),
        lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0), (1, 1)), constant_values=3.5),
    ),
    "a view": (lambda x: relay.expand_dims(relay.reshape(x, (24, 160)), 1, 2), lambda x: x.reshape(24, 1, 1, 160)),
    "a join": (
        lambda x: relay.concatenate([x, x], axis=-2),
        lambda x: np.concatenate([x, x], axis=-2),
    ),
    "broadcasting": (
        lambda x: relay.broadcast_to(relay.reshape(x, (32, 1, 12, 10)), (3, 32, 2, 12, 10)),
        lambda x: np.broadcast_to(x.reshape(32, 1, 12, 10), (3, 32, 2, 12, 10)),
    ),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
def test_elements_are_moved(name, dtype):
    ours, numpys = MOVES[name]
    if name == "padding" and dtype != "float32":
        pytest.skip("the value is a float")
    x = (100 * floats(32, 12, 2, 5)).astype(dtype)
    np.testing.assert_array_equal(folded(ours(const(x))), numpys(x))


def test_a_block_goes_back_and_into_another_block():
    x = floats(2, 3, 4, 5, 8)
    plain = x.transpose(0, 1, 4, 2, 3).reshape(2, 24, 4, 5)
    np.testing.assert_array_equal(folded(relay.layout_transform(const(x), "NCHW8c", "NCHW")), plain)
    again = plain.reshape(2, 6, 4, 4, 5).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(folded(relay.layout_transform(const(x), "NCHW8c", "NCHW4c")), again)


def test_blocks_that_channels_do_not_fill_are_padded_with_zeros():
    x = floats(1, 6, 2, 2)
    wide = np.pad(x, ((0, 0), (0, 2), (0, 0), (0, 0))).reshape(1, 2, 4, 2, 2).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(folded(relay.layout_transform(const(x), "NCHW", "NCHW4c")), wide)


def test_large_moves_are_shared_by_threads():
    x = floats(512, 300, 3, 3)
    np.testing.assert_array_equal(
        folded(relay.layout_transform(const(x), "OIHW", "OIHW4i16o")),
        x.reshape(32, 16, 75, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1),
    )


BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((4, 5), (4, 5)), ((4, 5), ()), ((4, 1, 6), (5, 1)), ((1,), (3, 2, 4)), ((), ())])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_arithmetic_broadcasts_its_arguments(name, shapes, dtype):
    if name == "divide" and dtype.startswith("int"):
        pytest.skip("integers are divided by kernels")
    a, b = (np.asarray(100 * RNG.standard_normal(shape)).astype(dtype) for shape in shapes)
    got = folded(getattr(relay, name)(const(a), const(b)))
    np.testing.assert_array_equal(got, BINARY[name](a, b))
    assert got.dtype == dtype


def test_integers_wrap_around():
    most = np.array([2**31 - 1], dtype="int32")
    assert folded(relay.add(const(most), const(most)))[0] == -2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_number(dtype):
    x = np.abs(floats(3, 70)).astype(dtype)
    np.testing.assert_array_equal(folded(relay.negative(const(x))), -x)
    np.testing.assert_array_equal(folded(relay.sqrt(const(x))), np.sqrt(x))
    np.testing.assert_allclose(folded(relay.rsqrt(const(x))), 1 / np.sqrt(x), rtol=1e-6)


@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("result", ["int32", "int64", "float32", "float64"])
def test_casts(source, result):
    x = np.array([0, 1, 77, 127], dtype=source)
    got = folded(relay.cast(const(x), result))
    np.testing.assert_array_equal(got, x.astype(result))
    assert got.dtype == result


@pytest.mark.parametrize("tile", [2, 4])
def test_winograds_weights(tile):
    w = floats(5, 7, 3, 3)
    g = {
        2: [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]],
        4: [
            [1 / 4, 0, 0],
            [-1 / 6, -1 / 6, -1 / 6],
            [-1 / 6, 1 / 6, -1 / 6],
            [1 / 24, 1 / 12, 1 / 6],
            [1 / 24, -1 / 12, 1 / 6],
            [0, 0, 1],
        ],
    }[tile]
    want = np.einsum("ak,oikl,bl->aboi", g, w, g)
    got = folded(relay.nn.contrib_conv2d_winograd_weight_transform(const(w), tile))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_has_no_loop_is_compiled_with_the_rest_as_constants():
    x = floats(4, 6)
    scaled = relay.transpose(relay.multiply(const(x), const(np.float32(2))))
    both = relay.Tuple([relay.exp(scaled), scaled, relay.split(scaled, 2)[1], relay.tanh(relay.split(scaled, 3)[2])])
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([], both)))
    fields = relay.transform.FoldConstant()(mod)["main"].body.fields
    y = (2 * x).T
    for field, want in zip(fields, [np.exp(y), y, y[3:], np.tanh(y[4:])]):
        np.testing.assert_allclose(field.data.numpy(), want, rtol=1e-5)
