"""Stages whose results lie in memory otherwise than they are written."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te


def run(s, args, *arrays):
    tensors = [tvm.nd.array(array) for array in arrays]
    tvm.build(s, args, target="llvm")(*tensors)
    return tensors[-1].numpy()


def test_an_output_is_transposed():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    axes = s[B].transform_layout(lambda i, j: [j, i])
    assert [axis.var.name for axis in axes] == ["j", "i"]
    assert [int(axis.dom.extent) for axis in axes] == [6, 4]
    a = np.random.default_rng(0).random((4, 6), dtype="float32")
    np.testing.assert_allclose(run(s, [A, B], a, np.zeros((6, 4), "float32")), (a + 1).T)


def test_an_argument_comes_in_blocks():
    A = te.placeholder((4, 16), name="A")
    B = te.compute((4, 16), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[A].transform_layout(lambda i, j: [j // 4, i, j % 4])
    a = np.random.default_rng(0).random((4, 16), dtype="float32")
    blocks = a.reshape(4, 4, 4).transpose(1, 0, 2).copy()
    np.testing.assert_allclose(run(s, [A, B], blocks, np.zeros((4, 16), "float32")), a * 2)


def test_the_new_axes_can_be_scheduled():
    A = te.placeholder((8, 12), name="A")
    B = te.compute((8, 12), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 12), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    jo, i, ji = s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])
    s[B].vectorize(ji)
    io, ii = s[B].split(i, factor=2)
    s[B].reorder(io, jo, ii, ji)
    s[B].parallel(io)
    a = np.random.default_rng(0).random((8, 12), dtype="float32")
    np.testing.assert_allclose(run(s, [A, C], a, np.zeros((8, 12), "float32")), (a + 1) * 2)


def test_a_reduction_in_another_layout_with_padding():
    A = te.placeholder((10, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    B = te.compute((10,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((10,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].transform_layout(lambda i: [i // 4, i % 4])
    a = np.random.default_rng(0).random((10, 7), dtype="float32")
    np.testing.assert_allclose(run(s, [A, C], a, np.zeros(10, "float32")), a.sum(1) + 1, rtol=1e-6)


def test_two_maps_one_after_another():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i, j: [j, i])
    s[B].transform_layout(lambda i, j: [i // 2, j, i % 2])
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    expected = (a + 1).T.reshape(4, 2, 8).transpose(0, 2, 1)
    np.testing.assert_allclose(run(s, [A, B], a, np.zeros((4, 8, 2), "float32")), expected)


def test_computed_at_a_loop_of_its_reader():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].transform_layout(lambda i, j: [j, i])
    s[B].compute_at(s[C], C.op.axis[0])
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(s, [A, C], a, np.zeros((8, 8), "float32")), (a + 1) * 2)


def test_separators_make_physical_dimensions():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i, j: [i, te.AXIS_SEPARATOR, j])
    func = tvm.driver.build_module.schedule_to_module(s, [A, B])["main"]
    buffers = {buffer.name: buffer for buffer in func.buffer_map.values()}
    assert [int(at) for at in buffers["B"].axis_separators] == [1]
    assert len(buffers["A"].axis_separators) == 0


def test_what_cannot_be_laid_out_says_why():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(ValueError, match="8|has 2 axes|takes"):
        s[B].transform_layout(lambda i, j, k: [k, j, i])
    s[B].split(B.op.axis[0], factor=2)
    with pytest.raises(ValueError, match="lay it out first"):
        s[B].transform_layout(lambda i, j: [j, i])
