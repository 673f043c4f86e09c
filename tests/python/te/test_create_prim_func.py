"""Blocks that TE operations become."""

import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T


def test_values_of_one_compute_are_a_block_each():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="B")

    @T.prim_func
    def expected(A: T.Buffer[8, "float32"], B_v0: T.Buffer[8, "float32"], B_v1: T.Buffer[8, "float32"]):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i0 in T.serial(8):
            with T.block("B_v0"):
                i = T.axis.spatial(8, i0)
                B_v0[i] = A[i] + T.float32(1)
            with T.block("B_v1"):
                i = T.axis.spatial(8, i0)
                B_v1[i] = A[i] * T.float32(2)

    func = te.create_prim_func([A, *B])
    tvm.ir.assert_structural_equal(func, expected)
    assert tir.Schedule(func).get_block("B_v1")


def test_the_block_of_a_foreign_function_touches_whole_buffers():
    A = te.placeholder((8,), name="A")
    B = te.extern((4,), [A], lambda ins, outs: tir.call_packed("test.halve", ins[0], outs[0]), name="B")
    block = te.create_prim_func([A, B]).body.block
    assert block.name_hint == "B" and [str(r) for r in (*block.reads, *block.writes)] == ["A[0:8]", "B[0:4]"]


def test_a_scan_is_not_written_as_blocks():
    state = te.placeholder((6, 8), name="state")
    init = te.compute((1, 8), lambda _, i: 1.0)
    out = te.scan(init, te.compute((6, 8), lambda t, i: state[t - 1, i] + 1.0), state)
    with pytest.raises(TypeError, match="Unsupported Operation: ScanOp"):
        te.create_prim_func([out])
