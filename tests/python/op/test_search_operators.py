"""Writing by index, scans, sorting and searching, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from operator_check import RNG, as_function, indices, run_function, tensor, verify
from tessera import relay


def test_updates_are_written_by_index():
    x = tensor(5, 4, 3)
    verify(lambda a, i, u: relay.scatter(a, i, u, 0), x, indices(5, 2, 4, 3), tensor(2, 4, 3))
    verify(lambda a, i, u: relay.scatter(a, i, u, -1), x, indices(3, 5, 4, 6, low=-3), tensor(5, 4, 6))
    verify(lambda a, i, u: relay.scatter(a, i, u, 1), x, indices(4, 3, 2, 2, dtype="int64"), tensor(3, 2, 2))
    verify(lambda a, i, u: relay.scatter_add(a, i, u, 0), x, indices(5, 9, 4, 3), tensor(9, 4, 3))
    verify(lambda a, i, u: relay.scatter_add(a, i, u, 0), tensor(4), np.array([1, 1, -1, 1], "int64"), tensor(4))
    for mode in ("update", "add", "min", "max", "mul"):
        verify(lambda a, i, u: relay.scatter_nd(a, i, u, mode), x, indices(4, 2, 6), tensor(6, 3))
    verify(lambda a, i, u: relay.scatter_nd(a, i, u, "add"), x, indices(3, 3, 2, 4, dtype="int64"), tensor(2, 4))
    verify(lambda a, i, u: relay.scatter_nd(a, i, u), indices(9, 6), indices(6, 1, 0), indices(9, 0))


def test_an_index_outside_is_left_out():
    x, i, u = np.zeros(3, "float32"), np.array([7, -9, 1, -1], "int32"), np.arange(1, 5, dtype="float32")
    got = run_function(as_function(lambda a, j, v: relay.scatter(a, j, v, 0), [x, i, u]), [x, i, u])[0]
    np.testing.assert_array_equal(got, [0, 3, 4])
    got = run_function(as_function(lambda a, j, v: relay.scatter_nd(a, j, v), [x, i[None], u]), [x, i[None], u])[0]
    np.testing.assert_array_equal(got, [0, 3, 4])


def test_sparse_values_become_dense():
    zero = relay.const(0.0)
    verify(lambda i, v: relay.sparse_to_dense(i, (7,), v, zero), np.array([1, 5, 2], "int32"), tensor(3))
    verify(lambda i, v: relay.sparse_to_dense(i, (3, 4), v, relay.const(-1.0)), indices(3, 5, 2), tensor(5))
    verify(lambda i, v: relay.sparse_to_dense(i, (6,), v, zero), np.array(4, "int64"), tensor())
    verify(relay.invert_permutation, RNG.permutation(20).astype("int64"))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_cumulative_sums_and_products(name, exclusive):
    run = getattr(relay, name)
    for axis in (None, 0, 1, -1):
        verify(lambda x: run(x, axis=axis, exclusive=exclusive), tensor(3, 4, 5), rtol=1e-4)
    verify(lambda x: run(x, axis=0, dtype="int64", exclusive=exclusive), indices(4, 6, dtype="int8"))
    verify(lambda x: run(x, exclusive=exclusive), tensor(0, 3))
    verify(lambda x: run(x, axis=1, exclusive=exclusive), np.array([[1, np.nan, 2, np.inf]], "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("ascends", [True, False])
def test_elements_are_sorted(dtype, ascends):
    x = indices(9, 4, 30, 3, dtype=dtype)
    for axis in (0, 1, -1):
        verify(lambda a: relay.argsort(a, axis=axis, is_ascend=ascends), x)
        verify(lambda a: relay.sort(a, axis=axis, is_ascend=ascends), x)
        for ret_type in ("both", "values", "indices"):
            verify(lambda a: relay.topk(a, 2, axis, ret_type, ascends, "int64"), x)
    verify(lambda a: relay.argsort(a, is_ascend=ascends, dtype="float32"), x)
    verify(lambda a: relay.topk(a, 0, 1, is_ascend=ascends), x)


def test_numbers_of_all_kinds_have_an_order():
    x = np.array([1, np.nan, -np.inf, -0.0, 0.0, np.inf, -1, np.nan], "float32")
    verify(lambda a: relay.sort(a), x)
    verify(lambda a: relay.argsort(a), x)
    verify(lambda a: relay.sort(a), x.astype("float16"))
    verify(lambda a: relay.sort(a), np.array([2**63 + 5, 1, 2**64 - 1, 0], "uint64"))
    verify(lambda a: relay.argsort(a), np.zeros((3, 0), "float32"))


@pytest.mark.parametrize("right", [False, True])
def test_values_are_found_in_a_sorted_sequence(right):
    sequence = np.sort(indices(20, 33))
    verify(lambda s, v: relay.searchsorted(s, v, right), sequence, indices(25, 4, 5, low=-3))
    verify(lambda s, v: relay.searchsorted(s, v, right, "int64"), np.sort(tensor(3, 16), -1), tensor(3, 7))
    verify(lambda s, v: relay.searchsorted(s, v, right), np.zeros(1, "float32"), np.zeros(3, "float32"))


@pytest.mark.parametrize("in_order", [True, False])
def test_different_elements_are_found(in_order):
    x = indices(6, 20)
    got = run_function(as_function(lambda a: relay.unique(a, in_order, return_counts=True), [x]), [x])
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.arange(len(values)) if in_order else np.argsort(first)
    n = int(got[3][0])
    assert n == len(values)
    np.testing.assert_array_equal(got[0][:n], values[order])
    np.testing.assert_array_equal(got[1][:n], first[order])
    np.testing.assert_array_equal(got[0][got[2]], x)
    np.testing.assert_array_equal(got[4][:n], counts[order])
    assert len(run_function(as_function(lambda a: relay.unique(a), [x]), [x])) == 4


BAD = {
    "scatter type": (lambda x, i: relay.scatter(x, i, i, 0), "their types differ"),
    "scatter rank": (lambda x, i: relay.scatter(x, relay.const([1]), x, 0), "indices must have 2 dimensions"),
    "scatter_nd": (lambda x, i: relay.scatter_nd(x, i, x), "its shape must be"),
    "axis": (lambda x, i: relay.cumsum(x, axis=2), "axis 2 is out of range"),
    "topk": (lambda x, i: relay.topk(x, 5).astuple(), "has only 3 elements"),
    "topk kind": (lambda x, i: relay.topk(x, 1, ret_type="all"), "ret_type"),
    "searchsorted": (lambda x, i: relay.searchsorted(x, i), "their types differ"),
    "unique": (lambda x, i: relay.unique(x).astuple(), "data must have 1 dimension"),
    "invert": (lambda x, i: relay.invert_permutation(x), "data must be integers"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_call_says_what_is_wrong(case):
    build, message = BAD[case]
    x, i = relay.var("x", shape=(2, 3)), relay.var("i", shape=(2, 3), dtype="int32")
    with pytest.raises((TypeError, tessera.error.DiagnosticError), match=message):
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, i], build(x, i))))
