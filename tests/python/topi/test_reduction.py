"""Reductions, against NumPy."""

import numpy as np
import pytest
from tessera import te, topi

AXES = [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2), (2, 0)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_agrees_with_numpy(name, axis, keepdims, run):
    rng = np.random.default_rng(2)
    for dtype in ("float32", "float64", "int32", "int64"):
        x = rng.integers(1, 4, (3, 4, 5)).astype(dtype) if "int" in dtype else rng.random((3, 4, 5)).astype(dtype)
        A = te.placeholder(x.shape, dtype, name="A")
        expected = getattr(np, name)(
            x, axis=axis, keepdims=keepdims, **({"dtype": dtype} if name in ("sum", "prod") else {})
        )
        np.testing.assert_allclose(run(getattr(topi, name)(A, axis, keepdims), [A], [x]), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_over_an_axis(name, run):
    x = np.array([[True, True], [True, False], [False, False]])
    A = te.placeholder(x.shape, "bool", name="A")
    np.testing.assert_array_equal(run(getattr(topi, name)(A, 1), [A], [x]), getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_position_of_an_extreme(name, last, run):
    x = np.array([[3, 1, 3, 1], [0, 0, 5, 5]], "float32")
    A = te.placeholder(x.shape, name="A")
    got = run(getattr(topi, name)(A, 1, False, last), [A], [x])
    pick = getattr(np, name)
    expected = [3 - pick(row[::-1]) if last else pick(row) for row in x]
    np.testing.assert_array_equal(got, expected)


def test_position_over_all_axes_is_that_of_the_flat_tensor(run):
    x = np.random.default_rng(3).permutation(24).reshape(2, 3, 4).astype("float32")
    A = te.placeholder(x.shape, name="A")
    assert run(topi.argmax(A), [A], [x]) == np.argmax(x)


def test_axis_out_of_range_is_rejected():
    with pytest.raises(ValueError, match="axis 3 is out of range for a tensor of 2 dimensions"):
        topi.sum(te.placeholder((2, 2)), axis=3)
