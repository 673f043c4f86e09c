"""The first elements of lines, in order: equal ones keep their order, a NaN is greater than all numbers."""

import numpy as np
import pytest
import tessera as tvm


def topk(data, count, ascends):
    values = tvm.nd.array(np.zeros((*data.shape[:-1], count), data.dtype))
    indices = tvm.nd.array(np.zeros((*data.shape[:-1], count), "int64"))
    function = tvm.get_global_func("tvm.contrib.sort.topk")
    function(tvm.nd.array(data), values, indices, count, -1, "both", ascends)
    return values.numpy(), indices.numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("count", [1, 5, 99, 100])
@pytest.mark.parametrize("ascends", [False, True])
def test_the_first_are_those_of_a_stable_sort(dtype, count, ascends):
    data = np.random.default_rng(count).integers(0, 40, (3, 100)).astype(dtype)
    if dtype.startswith("float"):
        data = data - 20
        data[0, ::7] = -0.0
        data[1, 3], data[1, 50] = np.inf, -np.inf
    order = np.argsort(data if ascends else -data.astype("float64"), axis=-1, kind="stable")[:, :count]
    values, indices = topk(data, count, ascends)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(data, order, -1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_number_comes_after_infinity(dtype):
    data = np.array([[1, np.nan, np.inf, -np.nan, 0]], dtype)
    np.testing.assert_array_equal(topk(data, 3, False)[1], [[1, 3, 2]])
    np.testing.assert_array_equal(topk(data, 4, True)[1], [[4, 0, 2, 1]])
