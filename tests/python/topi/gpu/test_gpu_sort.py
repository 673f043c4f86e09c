"""GPUs: sorting, argsort and top-k are kernels, in the order that the functions of the host give."""

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import DEVICES, build, programs, random, var
from tessera import relay
from tessera.contrib import graph_executor


def calls_the_host(lib):
    return any("tvm.contrib.sort" in str(program) for program in programs(lib))


def results(lib, device, x):
    module = graph_executor.GraphModule(lib["default"](tvm.device(device, 0)))
    module.run(x=tvm.nd.array(x))
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def order(x, axis, ascends):
    """Equal elements in their order, a NaN greater than all numbers."""
    keys = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(keys if ascends else -keys, axis=axis, kind="stable")


def device_order(body, device):
    lib = build(body, device)
    assert not calls_the_host(lib)
    return lib


LINES = [((1,), 0), ((7,), 0), ((300, 5), 1), ((5, 300), 0), ((3, 2048), 1), ((2, 2049), 1), ((2, 3, 9000), 2)]
LINES += [((9000, 3), 0), ((4, 50, 6), 1), ((1, 70_000), 1)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ascends", [True, False])
@pytest.mark.parametrize("shape, axis", LINES)
def test_argsort_keeps_the_order_of_equal_elements(shape, axis, ascends, device):
    x = np.random.default_rng(1).integers(-40, 40, shape).astype("float32")
    lib = device_order(relay.argsort(var("x", *shape), axis=axis, is_ascend=ascends, dtype="int32"), device)
    (got,) = results(lib, device, x)
    np.testing.assert_array_equal(got, order(x, axis, ascends))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint8", "uint32", "int16"])
def test_sort_of_types(dtype, device):
    x = random(3, 700, dtype=dtype)
    if dtype in ("int32", "uint32"):
        x[0, :4] = [np.iinfo(dtype).max, np.iinfo(dtype).min, 0, 1]
    lib = device_order(relay.sort(var("x", *x.shape, dtype=dtype), axis=1), device)
    np.testing.assert_array_equal(results(lib, device, x)[0], np.sort(x, axis=1))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ascends", [True, False])
def test_zeros_are_equal_and_nan_is_the_greatest(ascends, device):
    x = np.array([[0.0, np.nan, -np.inf, -0.0, np.inf, 0.0, -np.nan, -1e-45, 1e-45, -0.0]], "float32")
    lib = device_order(relay.argsort(var("x", *x.shape), axis=1, is_ascend=ascends, dtype="int64"), device)
    want = [[2, 7, 0, 3, 5, 9, 8, 4, 1, 6]] if ascends else [[1, 6, 4, 8, 0, 3, 5, 9, 7, 2]]
    np.testing.assert_array_equal(results(lib, device, x)[0], want)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, axis", [((2, 50257), 1), ((5000, 3), 0), ((3, 40), 1), ((6000,), 0)])
@pytest.mark.parametrize("k", [1, 5, 16, 33, 1000])
def test_topk(shape, axis, k, device):
    if k > shape[axis]:
        pytest.skip("fewer elements than k")
    x = np.random.default_rng(2).integers(0, 5000, shape).astype("float32")
    lib = device_order(relay.topk(var("x", *shape), k, axis=axis, dtype="int32").astuple(), device)
    values, indices = results(lib, device, x)
    want = np.take(order(x, axis, False), range(k), axis)
    np.testing.assert_array_equal(indices, want)
    np.testing.assert_array_equal(values, np.take_along_axis(x, want, axis))


@pytest.mark.parametrize("device", DEVICES)
def test_the_least_values_alone(device):
    x = random(40, 3000)
    lib = device_order(relay.topk(var("x", *x.shape), 7, ret_type="values", is_ascend=True), device)
    np.testing.assert_array_equal(results(lib, device, x)[0], np.sort(x, axis=1)[:, :7])


@pytest.mark.parametrize("device", DEVICES)
def test_a_few_of_long_lines_do_not_sort_them(device):
    lib = build(relay.topk(var("x", 64, 50257), 10, ret_type="indices"), device)
    assert str(programs(lib)[0]).count('"blockIdx.x"') == 2  # of tiles, and of what they leave


@pytest.mark.parametrize("device", DEVICES)
def test_elements_of_64_bits_are_sorted_on_the_host(device):
    x = random(3, 50, dtype="int64")
    lib = build(relay.sort(var("x", *x.shape, dtype="int64"), axis=1), device)
    assert calls_the_host(lib)
    np.testing.assert_array_equal(results(lib, device, x)[0], np.sort(x, axis=1))
