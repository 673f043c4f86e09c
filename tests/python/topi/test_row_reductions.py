"""Softmax, sums, means and maxima along the last axis on a CPU: by vectors, whatever the length of a row."""

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


def test_a_row_with_no_number_has_none():
    x = RNG.standard_normal((3, 40)).astype("float32")
    x[1, 33] = np.nan
    got = run(lambda x: relay.nn.softmax(x, axis=-1), x)
    assert np.isnan(got[1]).all() and np.isfinite(got[[0, 2]]).all()


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_of_rows_of_any_length(name, keepdims, shape):
    x = RNG.standard_normal(shape).astype("float32") - 3
    got = run(lambda x: getattr(relay, name)(x, axis=-1, keepdims=keepdims), x)
    want = getattr(np, name)(x.astype("float64"), axis=-1, keepdims=keepdims)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


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
