"""rfactor: partial results of a reduction, and that together they are the result."""

# ruff: noqa: F821 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule.testing import verify_trace_roundtrip


def run(function, inputs, outputs):
    out = [tvm.nd.array(np.full(shape, 99, dtype)) for shape, dtype in outputs]
    tvm.build(function, target="llvm")(*[tvm.nd.array(x) for x in inputs], *out)
    return [x.numpy() for x in out]


def arg_reduce(n, keep):
    """The position and the value that `keep` prefers in each row."""
    index, data = te.placeholder((4, n), "int32", "I"), te.placeholder((4, n), "int32", "A")
    k = te.reduce_axis((0, n), "k")
    pick = te.comm_reducer(
        lambda l, r: (tir.Select(keep(l, r), l[0], r[0]), tir.Select(keep(l, r), l[1], r[1])),
        lambda a, b: (tir.const(-1, a), tir.min_value(b)),
        name="pick",
    )
    out = te.compute((4,), lambda i: pick((index[i, k], data[i, k]), axis=k), name="R")
    return te.create_prim_func([index, data, out[0], out[1]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("inner", [True, False])
def test_several_results_are_chosen_together(axis, inner):
    before = arg_reduce(24, lambda l, r: l[1] >= r[1])
    sch = tir.Schedule(before)
    block = sch.get_block("R")
    loops = sch.split(sch.get_loops(block)[1], [None, 8])
    partial = sch.rfactor(loops[inner], axis)
    assert [b.buffer.name for b in sch.get(partial).writes] == ["R.v0_rf", "R.v1_rf"]
    assert [b.buffer.name for b in sch.get(block).reads] == ["R.v0_rf", "R.v1_rf"]
    data = np.stack([np.random.default_rng(i).permutation(24) for i in range(4)]).astype("int32")
    index = np.tile(np.arange(24, dtype="int32"), (4, 1))
    got = run(sch.mod["main"], [index, data], [((4,), "int32")] * 2)
    np.testing.assert_array_equal(got[0], data.argmax(1))
    np.testing.assert_array_equal(got[1], data.max(1))
    verify_trace_roundtrip(sch, before)
    assert tvm.ir.structural_equal(tvm.script.from_source(sch.mod["main"].script()), sch.mod["main"])


@pytest.mark.parametrize("reduce", [te.sum, te.max, te.min])
@pytest.mark.parametrize("inner", [True, False])
def test_tails_of_a_reduction_are_left_out(reduce, inner):
    a = te.placeholder((6, 21), name="A")
    k = te.reduce_axis((0, 21), "k")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((6,), lambda i: reduce(a[i, k], axis=k), name="C")]))
    block = sch.get_block("C")
    i, k = sch.get_loops(block)
    sch.split(i, [None, 4])
    loops = sch.split(k, [None, 8])
    partial = sch.rfactor(loops[inner], 1)
    sch.parallel(sch.get_loops(partial)[3 if inner else 2])
    x = np.random.default_rng(0).standard_normal((6, 21)).astype("float32")
    want = {te.sum: x.sum(1), te.max: x.max(1), te.min: x.min(1)}[reduce]
    np.testing.assert_allclose(run(sch.mod["main"], [x], [((6,), "float32")])[0], want, rtol=1e-5)


def test_axes_that_share_a_loop_are_taken_apart_together():
    a = te.placeholder((4, 6, 8), name="A")
    k, r = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 8), "r")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((4,), lambda i: te.sum(a[i, k, r], [k, r]), name="C")]))
    _, k, r = sch.get_loops("C")
    outer, inner = sch.split(k, [None, 2])
    sch.fuse(inner, r)  # runs through parts of k and all of r
    partial = sch.rfactor(outer, 0)
    text = sch.mod.script()
    assert 'vi1_0, i, vi1_1_i2_fused = T.axis.remap("SSR", [i1_0, i0, i1_1_i2_fused])' in text
    assert "A[i, vi1_0 * 2 + vi1_1_i2_fused // 8, vi1_1_i2_fused % 8]" in text
    sch.parallel(sch.get_loops(partial)[1])
    x = np.random.default_rng(0).standard_normal((4, 6, 8)).astype("float32")
    np.testing.assert_allclose(run(sch.mod["main"], [x], [((4,), "float32")])[0], x.sum((1, 2)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inner", [True, False])
def test_fused_loops_with_a_tail_are_factored(inner):
    a = te.placeholder((4, 3, 77), name="A")
    k, r = te.reduce_axis((0, 3), "k"), te.reduce_axis((0, 77), "r")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((4,), lambda i: te.sum(a[i, k, r], [k, r]), name="C")]))
    parts = sch.split(sch.fuse(*sch.get_loops("C")[1:]), [None, 128])
    sch.rfactor(parts[inner], 0)
    x = np.random.default_rng(0).standard_normal((4, 3, 77)).astype("float32")
    np.testing.assert_allclose(run(sch.mod["main"], [x], [((4,), "float32")])[0], x.sum((1, 2)), rtol=1e-4, atol=1e-4)


def test_a_loop_whose_length_depends_on_another_is_rejected():
    @T.prim_func
    def triangle(A: T.Buffer[(8, 8), "float32"], B: T.Buffer[(8,), "float32"]) -> None:
        for i in range(8):
            for k in range(i + 1):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    sch = tir.Schedule(triangle)
    with pytest.raises(tir.ScheduleError, match="the extent of loop k depends on loop i|not digits of the loops"):
        sch.rfactor(sch.get_loops("B")[1], 0)


def test_iterations_that_never_run_are_rejected():
    a = te.placeholder((6, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="C")]))
    outer, _ = sch.split(sch.get_loops("C")[1], [5, 7])  # outer iterations 3 and 4 have nothing to do
    with pytest.raises(tir.ScheduleError, match="may leave iterations of loop i1_0 without work"):
        sch.rfactor(outer, 0)


def test_a_reduction_of_another_kind_is_rejected():
    a = te.placeholder((6, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    minus = te.comm_reducer(lambda x, y: x - y, lambda t: tir.const(0, t), name="minus")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((6,), lambda i: minus(a[i, k], axis=k), name="C")]))
    with pytest.raises(tir.ScheduleError, match="does not accumulate in a known way"):
        sch.rfactor(sch.get_loops("C")[1], 0)


def test_named_values_are_part_of_the_reduction():
    @T.prim_func
    def before(A: T.Buffer[(6, 16), "float32"], B: T.Buffer[(6,), "float32"]) -> None:
        for i, k in T.grid(6, 16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                square: T.float32 = A[vi, vk] * A[vi, vk]
                B[vi] = B[vi] + square

    sch = tir.Schedule(before)
    sch.rfactor(sch.get_loops("B")[1], 0)
    x = np.random.default_rng(0).standard_normal((6, 16)).astype("float32")
    np.testing.assert_allclose(run(sch.mod["main"], [x], [((6,), "float32")])[0], (x * x).sum(1), rtol=1e-5)
