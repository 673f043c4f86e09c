"""Operations whose body is a function written as a script."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te
from tessera.script import tir as T


@T.prim_func
def add_one(B: T.Buffer[(8,), "float32"], A: T.Buffer[(8,), "float32"]):
    for i in T.serial(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)


@T.prim_func
def row_sums(A: T.Buffer[(8, 4), "float32"], B: T.Buffer[(8,), "float32"]):
    for i in T.serial(8):
        B[i] = T.float32(0)
        for j in T.serial(4):
            B[i] = B[i] + A[i, j]


def run(module, *arrays):
    result = tvm.nd.array(np.zeros(8, "float32"))
    module(*[tvm.nd.array(a) for a in arrays], result)
    return result.numpy()


def test_a_function_of_blocks_becomes_part_of_another():
    x = te.placeholder((8,), name="x")
    y = te.extern_primfunc([x], add_one)
    z = te.compute((8,), lambda i: y[i] * 2.0, name="z")
    function = te.create_prim_func([x, z])
    assert "T.reads(x[vi])" in function.script()
    a = np.arange(8, dtype="float32")
    np.testing.assert_allclose(run(tvm.build(function, target="llvm"), a), (a + 1) * 2)


def test_what_is_read_and_written_is_an_output_where_nothing_else_is():
    x = te.placeholder((8, 4), name="x")
    y = te.extern_primfunc([x], row_sums)
    a = np.random.rand(8, 4).astype("float32")
    np.testing.assert_allclose(run(tvm.build(te.create_schedule(y.op), [x, y], "llvm"), a), a.sum(1), rtol=1e-5)


def test_tensors_that_do_not_fit_are_rejected():
    with pytest.raises(ValueError, match="buffer A of the function is float32 of shape"):
        te.extern_primfunc([te.placeholder((8,), "int32", name="x")], add_one)
    with pytest.raises(ValueError, match="the function reads A; 0 tensors are given"):
        te.extern_primfunc([], add_one)
