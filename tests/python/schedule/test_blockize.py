"""blockize: what runs inside a loop becomes one block, and still computes the same."""

# ruff: noqa: F821, F841 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule.testing import verify_trace_roundtrip


@T.prim_func
def twice(A: T.Buffer[(128, 128), "float32"], B: T.Buffer[(128, 128), "float32"]) -> None:
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def row_sum(A: T.Buffer[(12, 16), "float32"], B: T.Buffer[(12,), "float32"]) -> None:
    for k, i in T.grid(16, 12):
        with T.block("B"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def run(function, *shapes):
    """What the function makes of random inputs; the last shape is the result's."""
    data = [np.random.default_rng(i).standard_normal(s).astype("float32") for i, s in enumerate(shapes[:-1])]
    out = tvm.nd.array(np.full(shapes[-1], np.nan, "float32"))
    tvm.build(function, target="llvm")(*[tvm.nd.array(x) for x in data], out)
    return out.numpy()


def check(sch, before, after, *shapes):
    tvm.ir.assert_structural_equal(sch.mod["main"], after)
    assert tvm.ir.structural_equal(tvm.script.from_source(sch.mod["main"].script()), sch.mod["main"])
    np.testing.assert_allclose(run(sch.mod["main"], *shapes), run(before, *shapes), rtol=1e-5)
    verify_trace_roundtrip(sch, before)


def test_the_whole_nest_becomes_a_block_of_one_iteration():
    @T.prim_func
    def after(A: T.Buffer[(128, 128), "float32"], B: T.Buffer[(128, 128), "float32"]) -> None:
        with T.block("B_o"):
            vi_o = T.axis.spatial(1, 0)
            vj_o = T.axis.spatial(1, 0)
            T.reads(A[0:128, 0:128])
            T.writes(B[0:128, 0:128])
            for i, j in T.grid(128, 128):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)

    sch = tir.Schedule(twice)
    outer = sch.blockize(sch.get_loops(sch.get_block("B"))[0])
    assert sch.get(outer).name_hint == "B_o"
    check(sch, twice, after, (128, 128), (128, 128))


def test_an_axis_counted_outside_stays_whole():
    @T.prim_func
    def after(A: T.Buffer[(128, 128), "float32"], B: T.Buffer[(128, 128), "float32"]) -> None:
        for i in T.serial(128):
            with T.block("B_o"):
                vi = T.axis.spatial(128, i)
                vj_o = T.axis.spatial(1, 0)
                T.reads(A[vi, 0:128])
                T.writes(B[vi, 0:128])
                for j in T.serial(128):
                    with T.block("B"):
                        vj = T.axis.spatial(128, j)
                        B[vi, vj] = A[vi, vj] * T.float32(2)

    sch = tir.Schedule(twice)
    inner = sch.get_block("B")
    outer = sch.blockize(sch.get_loops(inner)[1])
    assert [sch.get(b).name_hint for b in (outer, inner)] == ["B_o", "B"]
    assert len(sch.get_loops(inner)) == len(sch.get_loops(outer)) == 1
    check(sch, twice, after, (128, 128), (128, 128))


def test_the_init_of_a_reduction_moves_out_over_its_spatial_axes():
    @T.prim_func
    def after(A: T.Buffer[(12, 16), "float32"], B: T.Buffer[(12,), "float32"]) -> None:
        for k_0 in T.serial(4):
            with T.block("B_o"):
                vk_o = T.axis.reduce(4, k_0)
                vi_o = T.axis.spatial(1, 0)
                T.reads(A[0:12, vk_o * 4 : vk_o * 4 + 4])
                T.writes(B[0:12])
                with T.init():
                    for i in T.serial(12):
                        with T.block("B_init"):
                            vi = T.axis.spatial(12, i)
                            B[vi] = T.float32(0)
                for k_1, i in T.grid(4, 12):
                    with T.block("B"):
                        vk, vi = T.axis.remap("RS", [k_1, i])
                        B[vi] = B[vi] + A[vi, vk_o * 4 + vk]

    sch = tir.Schedule(row_sum)
    k, i = sch.get_loops(sch.get_block("B"))
    _, inner = sch.split(k, [4, 4])
    sch.blockize(inner)
    check(sch, row_sum, after, (12, 16), (12,))


def test_blocks_of_blocks_of_blocks_compute_the_same():
    a, b = te.placeholder((32, 32), name="A"), te.placeholder((32, 32), name="B")
    k = te.reduce_axis((0, 32), "k")
    c = te.compute((32, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    before = te.create_prim_func([a, b, c])
    sch = tir.Schedule(before)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1, i2 = sch.split(i, [2, 4, 4])
    j0, j1, j2 = sch.split(j, [4, 2, 4])
    k0, k1, k2 = sch.split(k, [2, 2, 8])
    sch.reorder(i0, j0, k0, i1, j1, k1, i2, j2, k2)
    sch.vectorize(j2)
    tile = sch.blockize(i1)
    sch.blockize(i2)
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(tile)] == ["C_o"]
    sch.parallel(sch.get_loops(tile)[0])
    np.testing.assert_allclose(
        run(sch.mod["main"], (32, 32), (32, 32), (32, 32)), run(before, (32, 32), (32, 32), (32, 32)), rtol=1e-4
    )


def test_the_condition_of_an_uneven_split_outside_stays_around_the_block():
    sch = tir.Schedule(twice)
    i, j = sch.get_loops(sch.get_block("B"))
    (io, ii), (jo, ji) = sch.split(i, [None, 48]), sch.split(j, [None, 16])
    sch.reorder(io, jo, ii, ji)
    sch.blockize(ji)
    text = sch.mod["main"].script()
    assert text.index('T.block("B_o")') < text.index("T.where(i_0 * 48 + i_1 < 128)") < text.index('T.block("B")')
    np.testing.assert_allclose(run(sch.mod["main"], (128, 128), (128, 128)), run(twice, (128, 128), (128, 128)))


def test_axes_that_do_not_divide_are_rejected_and_nothing_changes():
    sch = tir.Schedule(row_sum)
    k, i = sch.get_loops(sch.get_block("B"))
    sch.reorder(i, k)
    _, inner = sch.split(k, [None, 5])
    before = sch.mod["main"].script()
    with pytest.raises(tir.ScheduleError, match="no condition may name loops of both sides"):
        sch.blockize(inner)
    assert sch.mod["main"].script() == before


def test_a_loop_around_two_blocks_is_rejected():
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((16, 16), lambda i, j: b[i, j] + 1.0, name="C")]))
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.compute_at(sch.get_block("B"), loop)
    with pytest.raises(tir.ScheduleError, match="loop i0 has 2 blocks inside; blockize takes a loop around one block"):
        sch.blockize(loop)


@T.prim_func
def backwards(A: T.Buffer[(16,), "float32"], B: T.Buffer[(16,), "float32"]) -> None:
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, 15 - i)
            B[vi] = A[vi] * T.float32(2)


def test_an_axis_that_counts_down_keeps_its_domain():
    sch = tir.Schedule(backwards)
    sch.blockize(sch.get_loops("B")[0])
    script = sch.mod.script()
    assert "T.writes(B[0 : 16])" in script and "vi_i = T.axis.spatial(16, i * -1 + 15)" in script
    np.testing.assert_allclose(run(sch.mod["main"], (16,), (16,)), run(backwards, (16,), (16,)), rtol=1e-6)


def test_guards_stay_with_the_loops_they_name():
    sch = tir.Schedule(row_sum)
    block = sch.get_block("B")
    _, i = sch.get_loops(block)
    outer, _ = sch.split(i, [None, 5])
    sch.reorder(outer, sch.get_loops(block)[0])
    sch.blockize(outer)
    assert sch.mod["main"].script().count("T.where(") == 2  # of the init and of the update
    np.testing.assert_allclose(run(sch.mod["main"], (12, 16), (12,)), run(row_sum, (12, 16), (12,)), rtol=1e-5)
