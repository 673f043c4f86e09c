"""Functions of one tensor, against NumPy and the math module."""

import math

import numpy as np
import pytest
import tessera
from tessera import te, topi

ANY = np.array([-2.5, -1.5, -0.5, -0.0, 0.0, 0.25, 0.5, 1.5, 2.5, 7.75])
UNIT = np.linspace(-0.9, 0.9, 13)
POSITIVE = np.array([1e-3, 0.5, 1.0, 2.0, 10.0, 1e6])

CASES = {
    "identity": (lambda x: x, ANY),
    "negative": (np.negative, ANY),
    "exp": (np.exp, ANY),
    "erf": (np.vectorize(math.erf), ANY),
    "tanh": (np.tanh, ANY),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), ANY),
    "tan": (np.tan, UNIT),
    "cos": (np.cos, ANY),
    "cosh": (np.cosh, ANY),
    "sin": (np.sin, ANY),
    "sinh": (np.sinh, ANY),
    "acos": (np.arccos, UNIT),
    "acosh": (np.arccosh, POSITIVE + 1),
    "asin": (np.arcsin, UNIT),
    "asinh": (np.arcsinh, ANY),
    "atan": (np.arctan, ANY),
    "atanh": (np.arctanh, UNIT),
    "floor": (np.floor, ANY),
    "ceil": (np.ceil, ANY),
    "trunc": (np.trunc, ANY),
    "abs": (np.abs, ANY),
    "sign": (np.sign, ANY),
    "log": (np.log, POSITIVE),
    "log2": (np.log2, POSITIVE),
    "log10": (np.log10, POSITIVE),
    "sqrt": (np.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_agrees_with_numpy(name, dtype, run):
    reference, values = CASES[name]
    x = values.astype(dtype)
    A = te.placeholder(x.shape, dtype, name="A")
    got = run(getattr(topi, name)(A), [A], [x])
    np.testing.assert_allclose(
        got, reference(x.astype("float64")), rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-7
    )


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_classes_of_numbers(name, run):
    x = np.array([0.0, 1.5, np.nan, np.inf, -np.inf], "float32")
    A = te.placeholder(x.shape, name="A")
    np.testing.assert_array_equal(run(getattr(topi, name)(A), [A], [x]), getattr(np, name)(x))


def test_round_goes_away_from_zero_at_a_half(run):
    x = np.array([-1.5, -0.5, 0.5, 1.5, 2.5, 2.4], "float32")
    A = te.placeholder(x.shape, name="A")
    np.testing.assert_array_equal(run(topi.round(A), [A], [x]), np.trunc(x + np.copysign(0.5, x)))


def test_clip_cast_and_full(run):
    x = np.array([-3.0, 0.5, 9.0], "float32")
    A = te.placeholder(x.shape, name="A")
    np.testing.assert_array_equal(run(topi.clip(A, 0.0, 6.0), [A], [x]), np.clip(x, 0, 6))
    np.testing.assert_array_equal(run(topi.cast(A, "int32"), [A], [x]), x.astype("int32"))
    np.testing.assert_array_equal(run(topi.full((2, 2), "int32", 7), [], []), np.full((2, 2), 7, "int32"))


@pytest.mark.parametrize(
    "name, reference", [("fast_exp", np.exp), ("fast_tanh", np.tanh), ("fast_erf", np.vectorize(math.erf))]
)
def test_fast_forms_are_close(name, reference, run):
    x = np.linspace(-8, 8, 101).astype("float32")
    A = te.placeholder(x.shape, name="A")
    np.testing.assert_allclose(
        run(getattr(topi, name)(A), [A], [x]), reference(x.astype("float64")), rtol=2e-5, atol=1e-5
    )


def test_type_of_a_result_follows_the_argument():
    assert topi.exp(te.placeholder((2,), "float16")).dtype == "float16"
    assert topi.isnan(te.placeholder((2,))).dtype == "bool"
    assert tessera.nd.empty((1,), "float16").dtype == "float16"
