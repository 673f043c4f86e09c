"""Rolling buffers keep what the next iteration needs again."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir


def window_chain(rows, width, stride, window):
    """Sums of `window` rows, every `stride` rows, of A + 1."""
    A = te.placeholder((rows, width), name="A")
    B = te.compute((rows, width), lambda i, j: A[i, j] + 1.0, name="B")
    k = te.reduce_axis((0, window), name="k")
    out = (rows - window) // stride + 1
    C = te.compute((out, width), lambda i, j: te.sum(B[i * stride + k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    return s, A, C


PASS = {"tir.add_lower_pass": [(0, tir.transform.InjectRollingBuffer())]}


@pytest.mark.parametrize("stride, window", [(1, 3), (2, 3), (1, 5), (3, 3), (4, 3), (2, 7)])
def test_windows_over_rows(stride, window):
    rows, width = 32, 4
    s, A, C = window_chain(rows, width, stride, window)
    a = np.random.default_rng(0).random((rows, width), dtype="float32")
    shape = tuple(int(x) for x in C.shape)
    expected = np.stack([(a[i * stride : i * stride + window] + 1).sum(0) for i in range(shape[0])])
    with tvm.transform.PassContext(config=PASS):
        func = tvm.build(s, [A, C], target="llvm")
    c = tvm.nd.array(np.zeros(shape, "float32"))
    func(tvm.nd.array(a), c)
    np.testing.assert_allclose(c.numpy(), expected, rtol=1e-6)


def test_rows_that_are_there_are_not_computed_again():
    s, A, C = window_chain(32, 4, 1, 3)
    phase0 = tvm.driver.build_module.schedule_to_module(s, [A, C])
    done = tir.transform.InjectRollingBuffer()(phase0)["main"]
    realize = done.body
    while not isinstance(realize, tir.BufferRealize):
        realize = realize.body
    assert realize.buffer.name == "B" and isinstance(realize.body, tir.For)  # it lives across the rows
    assert [int(bound.extent) for bound in realize.bounds] == [3, 4]
    text = done.script()
    assert "% 3" in text and "i == 0 or 2 <= " in text.replace("(", "").replace(")", "")


def test_nothing_changes_where_nothing_overlaps():
    s, A, C = window_chain(32, 4, 3, 3)
    phase0 = tvm.driver.build_module.schedule_to_module(s, [A, C])
    assert "%" not in tir.transform.InjectRollingBuffer()(phase0)["main"].script()


def test_two_dimensions_roll_along_the_innermost_loop():
    A = te.placeholder((12, 12), name="A")
    B = te.compute((12, 12), lambda i, j: A[i, j] * 2.0, name="B")
    ki, kj = te.reduce_axis((0, 3), name="ki"), te.reduce_axis((0, 3), name="kj")
    C = te.compute((10, 10), lambda i, j: te.sum(B[i + ki, j + kj], axis=[ki, kj]), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    s[B].rolling_buffer()
    a = np.random.default_rng(0).random((12, 12), dtype="float32")
    expected = sum((a * 2)[i : i + 10, j : j + 10] for i in range(3) for j in range(3))
    with tvm.transform.PassContext(config=PASS):
        func = tvm.build(s, [A, C], target="llvm")
    c = tvm.nd.array(np.zeros((10, 10), "float32"))
    func(tvm.nd.array(a), c)
    np.testing.assert_allclose(c.numpy(), expected, rtol=1e-6)
