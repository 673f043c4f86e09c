"""Softmax, sums, means, maxima and minima along the last axis on a CPU: by vectors, whatever the length of a row."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

RNG = np.random.default_rng(5)


def run(body, x):
    var = relay.var("x", shape=x.shape, dtype=str(x.dtype))
    mod = tvm.IRModule.from_expr(relay.Function([var], body(var)))
    with tvm.transform.PassContext(opt_level=3):
        return tvm.Model(relay.build(mod, "llvm")).run(x)[0].numpy()


def softmax(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


SHAPES = [(1, 16), (2, 17), (5, 31), (3, 4, 128), (1, 12, 197, 197), (40, 1000), (2, 3, 15)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_of_rows_of_any_length(shape, dtype):
    x = (RNG.standard_normal(shape) * 5).astype(dtype)
    got = run(lambda x: relay.nn.softmax(x, axis=-1), x)
    np.testing.assert_allclose(got, softmax(x.astype("float64")), rtol=3e-6, atol=1e-12)


def test_softmax_of_what_is_left_out_is_zero():
    x = RNG.standard_normal((4, 40)).astype("float32")
    x[:, 7:] = -np.inf
    x[2] = 3e38  # no overflow
    got = run(lambda x: relay.nn.softmax(x, axis=-1), x)
    np.testing.assert_allclose(got, softmax(x.astype("float64")), rtol=1e-5)


@pytest.mark.parametrize("length", [49, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shares_that_would_be_denormal_are_zero(dtype, length):
    x = RNG.standard_normal((4, length)).astype(dtype)
    x[:, ::3] -= 100 if dtype == "float32" else 740  # what masks of windows add
    got = run(lambda x: relay.nn.softmax(x, axis=-1), x)
    assert (got[:, ::3] == 0).all() and (got[:, 1::3] > 0).all()
    np.testing.assert_allclose(got, softmax(x.astype("float64")), rtol=3e-6, atol=1e-30)


def test_a_row_with_no_number_has_none():
    x = RNG.standard_normal((3, 40)).astype("float32")
    x[1, 33] = np.nan
    got = run(lambda x: relay.nn.softmax(x, axis=-1), x)
    assert np.isnan(got[1]).all() and np.isfinite(got[[0, 2]]).all()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_of_rows_of_any_length(name, keepdims, shape):
    x = RNG.standard_normal(shape).astype("float32") - 3
    got = run(lambda x: getattr(relay, name)(x, axis=-1, keepdims=keepdims), x)
    want = getattr(np, name)(x.astype("float64"), axis=-1, keepdims=keepdims)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "instruction"), [("max", "vmaxps"), ("min", "vminps")])
def test_extremes_of_rows_are_found_by_vectors(name, instruction):
    var = relay.var("x", shape=(40, 300))
    mod = tvm.IRModule.from_expr(relay.Function([var], getattr(relay, name)(var, axis=-1)))
    with tvm.transform.PassContext(opt_level=3):
        text = relay.build(mod, "llvm -mcpu=skylake-avx512").get_lib().get_source("asm")
    assert any(instruction in line and "%zmm" in line for line in text.splitlines())


def test_a_reduction_takes_in_what_comes_before_it_and_what_follows():
    x = RNG.standard_normal((7, 9, 100)).astype("float32")
    got = run(lambda x: relay.sqrt(relay.mean(relay.multiply(x, x), axis=-1, keepdims=True)), x)
    np.testing.assert_allclose(got, np.sqrt((x * x).mean(axis=-1, keepdims=True)), rtol=1e-5)


def test_a_row_that_is_less_its_mean():
    x = RNG.standard_normal((6, 50)).astype("float32")
    got = run(lambda x: relay.subtract(x, relay.mean(x, axis=-1, keepdims=True)), x)
    np.testing.assert_allclose(got, x - x.mean(axis=-1, keepdims=True), atol=1e-5)


def test_the_greatest_of_a_row_of_nothing_but_minus_infinity_is_that():
    x = np.full((3, 21), -np.inf, "float32")
    np.testing.assert_array_equal(run(lambda x: relay.max(x, axis=-1), x), x[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_log_softmax_of_rows_of_any_length(shape, dtype):
    x = (RNG.standard_normal(shape) * 5).astype(dtype)
    x[..., 3] += 1e4  # far from the others: their logarithm is a difference of large numbers
    got = run(lambda x: relay.nn.log_softmax(x, axis=-1), x)
    wide = x.astype("float64")
    less = wide - wide.max(axis=-1, keepdims=True)
    want = less - np.log(np.exp(less).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape", [(3, 5, 16), (7, 4, 33), (2, 21, 100), (2, 3, 1000)])
def test_argmax_and_argmin_among_equals(shape, name, axis, last):
    x = RNG.integers(0, 4, shape).astype("float32")
    x[0, 0] = np.inf if name == "argmax" else -np.inf
    got = run(lambda x: getattr(relay, name)(x, axis=axis, select_last_index=last), x)
    turned = np.flip(x, axis) if last else x
    want = getattr(np, name)(turned, axis)
    np.testing.assert_array_equal(got, x.shape[axis] - 1 - want if last else want)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_argmax_among_nans_is_one_of_theirs(axis):
    x = np.full((40, 50), np.nan, "float32")
    x[3, 7] = 1.0
    got = run(lambda x: relay.argmax(x, axis=axis), x)
    assert got.min() >= 0 and got.max() < x.shape[axis]


@pytest.mark.parametrize("shape", [(64, 64), (1000, 1000), (5003,), (4, 7, 11, 17), (2, 4099)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_reductions_of_all_elements(name, shape):
    # Numbers of its own, whatever ran before: a sum of a million that happens to be near 0 has few digits to compare.
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    got = run(lambda x: getattr(relay, name)(x), x)
    assert got.shape == ()
    np.testing.assert_allclose(
        got, getattr(np, name)(x.astype("float64")), rtol=1e-5, atol=1e-4 if name == "sum" else 1e-6
    )


@pytest.mark.parametrize("width", [17, 48, 56, 1000, 8400])
def test_reductions_of_columns_of_any_number(width):
    x = RNG.standard_normal((1, 84, width)).astype("float32")
    np.testing.assert_allclose(run(lambda x: relay.sum(x, axis=1), x), x.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(run(lambda x: relay.max(x, axis=1), x), x.max(1))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    "shape, axis", [((5, 40), 0), ((5, 40), 1), ((3, 7, 1040), 1), ((4, 3, 5, 20), 0), ((1, 37), 0)]
)
def test_running_sums_along_any_axis(shape, axis, exclusive):
    x = RNG.integers(-9, 9, shape).astype("float32")
    x.flat[0] = -0.0
    got = run(lambda x: relay.cumsum(x, axis=axis, exclusive=exclusive), x)
    want = np.cumsum(x, axis) - (x if exclusive else 0)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("length", [768, 64, 100, 17, 3, 1])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_integers_of_rows(name, length, keepdims):
    """Sums of uint8 as int32, as zero points of quantised matmuls take them; rows of a dynamic number and length too."""
    x = RNG.integers(0, 256, (9, length), dtype="uint8")
    want = getattr(x.astype("int32"), name)(axis=-1, keepdims=keepdims)
    body = lambda x: getattr(relay, name)(relay.cast(x, "int32"), axis=[-1], keepdims=keepdims)
    np.testing.assert_array_equal(run(body, x), want)
    var = relay.var("x", shape=(relay.Any(), relay.Any()), dtype="uint8")
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([var], body(var))), "llvm")
    got = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu()).run(tvm.nd.array(x)).numpy()
    np.testing.assert_array_equal(got, want)
