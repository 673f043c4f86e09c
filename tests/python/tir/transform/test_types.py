"""Passes on data types."""

import numpy as np
import tessera as tvm
from helpers import body_text, buffer, function, loop, run
from tessera import te, tir


def test_bfloat16_is_computed_in_float32_and_rounded_to_nearest_even():
    A = te.placeholder((64,), "bfloat16", name="A")
    B = te.compute((64,), lambda i: A[i] * A[i] + A[i], name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")

    def rounded(x):
        bits = x.astype("float32").view("uint32")
        return ((bits + ((bits >> 16) & 1) + 0x7FFF) >> 16).astype("uint16")

    x = np.random.default_rng(0).normal(size=64).astype("float32")
    words = rounded(x)
    exact = (words.astype("uint32") << 16).view("float32")
    a, b = tvm.nd.empty((64,), "bfloat16"), tvm.nd.empty((64,), "bfloat16")
    a.copyfrom(words)
    b.copyfrom(np.zeros(64, "uint16"))
    f(a, b)
    got = b.numpy().view("uint16") if b.numpy().dtype.itemsize == 2 else b.numpy()
    np.testing.assert_array_equal(got, rounded(exact * exact + exact))


def test_wide_indices_that_fit_become_narrow():
    A = buffer("A", (tir.const(64, "int64"), tir.const(64, "int64")))
    i, j = tir.Var("i", "int64"), tir.Var("j", "int64")
    zero, n = tir.const(0, "int64"), tir.const(64, "int64")
    store = tir.BufferStore(A, tir.const(1.0, "float32"), [i, j])
    nest = tir.For(i, zero, n, 0, tir.For(j, zero, n, 0, store))
    text = body_text(run([tir.transform.FlattenBuffer(), tir.transform.NarrowDataType(32)], function([A], nest)))
    assert "int64" not in text


def test_indices_that_may_not_fit_stay_wide():
    n = tir.const(1 << 20, "int64")
    A = buffer("A", (n, n))
    i, j = tir.Var("i", "int64"), tir.Var("j", "int64")
    zero = tir.const(0, "int64")
    store = tir.BufferStore(A, tir.const(1.0, "float32"), [i, j])
    nest = tir.For(i, zero, n, 0, tir.For(j, zero, n, 0, store))
    text = body_text(run([tir.transform.FlattenBuffer(), tir.transform.NarrowDataType(32)], function([A], nest)))
    assert "int64" in text


def test_an_expression_used_twice_is_computed_once():
    A, x, y = buffer("A", (64,), "int32"), te.var("x"), te.var("y")
    i = te.var("i")
    body = tir.SeqStmt(
        [
            tir.BufferStore(A, (x + y) * 2, [0]),
            tir.BufferStore(A, (x + y) * (x + y), [1]),
            loop(i, 8, tir.BufferStore(A, (x + y) + i, [i])),
        ]
    )
    text = body_text(run(tir.transform.CommonSubexprElimTIR(), function([A], body, [x, y])))
    assert text.startswith("cse_var_1: T.int32 = x + y\n")
    assert text.count("x + y") == 1
