"""Tensors that are filled up: rows of border, data and border, against NumPy."""

import numpy as np
import pytest
from tessera import relay
from test_conv_kinds import TARGETS, run

SHAPES = {
    "rows and columns": ((1, 3, 20, 37), ((0, 0), (0, 0), (1, 2), (3, 1))),
    "columns only": ((7, 50), ((0, 0), (2, 0))),
    "rows only": ((9, 50), ((1, 3), (0, 0))),
    "a line": ((5,), ((1, 2),)),
    "blocks of channels": ((1, 2, 6, 7, 16), ((0, 0), (0, 0), (1, 1), (2, 2), (0, 0))),
    "blocks of odd channels": ((1, 2, 6, 7, 5), ((0, 0), (0, 0), (1, 1), (2, 2), (0, 0))),
    "blocks of one": ((1, 3, 30, 33, 1), ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0))),
    "more channels": ((1, 5, 6, 18), ((0, 0), (0, 3), (0, 0), (0, 0))),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, width", SHAPES.values(), ids=SHAPES)
def test_a_border_is_put_around_the_data(shape, width, target):
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    x = relay.var("x", shape=shape)
    got = run(relay.Function([x], relay.nn.pad(relay.nn.relu(x), width, 2.5)), {"x": data}, target)
    np.testing.assert_array_equal(got, np.pad(np.maximum(data, 0), width, constant_values=2.5))


@pytest.mark.parametrize("dtype", ["float64", "int8", "int64", "uint8"])
def test_other_types_of_elements(dtype):
    data = np.arange(2 * 9 * 35).reshape(2, 9, 35).astype(dtype)
    x = relay.var("x", shape=data.shape, dtype=dtype)
    width = ((0, 0), (1, 1), (2, 3))
    got = run(relay.Function([x], relay.nn.pad(x, width, 3)), {"x": data})
    np.testing.assert_array_equal(got, np.pad(data, width, constant_values=3))
