"""Blocks that move into tiles run what the tile needs; copies stand where their tiles are."""

# ruff: noqa: F821 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import tir
from tessera.script import tir as T


def loops(sch, block):
    return [int(sch.get(loop).extent) for loop in sch.get_loops(block)]


def result(func, *shapes):
    data = [np.random.default_rng(7).standard_normal(shape).astype("float32") for shape in shapes]
    arrays = [tvm.nd.array(x) for x in data]
    tvm.build(func, target="llvm")(*arrays)
    return arrays[-1].numpy()


def computes_the_same(sch, func, *shapes):
    np.testing.assert_allclose(result(sch.mod["main"], *shapes), result(func, *shapes), rtol=1e-5, atol=1e-6)


@T.prim_func
def blockized(A: T.Buffer[(64, 64), "float32"], C: T.Buffer[(64, 64), "float32"]):
    B = T.alloc_buffer((64, 64))
    for i0, j0 in T.grid(8, 8):
        with T.block("B"):
            i, j = T.axis.remap("SS", [i0, j0])
            T.reads(A[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8])
            T.writes(B[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8])
            for x, y in T.grid(8, 8):
                with T.block("element"):
                    vi = T.axis.S(64, i * 8 + x)
                    vj = T.axis.S(64, j * 8 + y)
                    B[vi, vj] = A[vi, vj] * 2.0
    for a, b, c, d in T.grid(4, 4, 16, 16):
        with T.block("C"):
            vi = T.axis.S(64, a * 16 + c)
            vj = T.axis.S(64, b * 16 + d)
            C[vi, vj] = B[vi, vj] + 1.0


def test_a_tile_runs_the_blocks_of_a_blockized_producer_that_it_needs():
    sch = tir.Schedule(blockized)
    sch.compute_at("B", sch.get_loops("C")[1])
    assert loops(sch, "B") == [4, 4, 2, 2]
    computes_the_same(sch, blockized, (64, 64), (64, 64))


@T.prim_func
def guarded(A: T.Buffer[(128,), "float32"], C: T.Buffer[(128,), "float32"]):
    B = T.alloc_buffer((128,))
    for i in range(128):
        with T.block("B"):
            v = T.axis.S(128, i)
            B[v] = A[v] * 2.0
    for a, b in T.grid(128, 32):
        with T.block("C"):
            T.where(b < 1)
            v = T.axis.S(128, a + b)
            C[v] = B[v] + 1.0


def test_the_guard_of_a_consumer_bounds_what_it_needs():
    sch = tir.Schedule(guarded)
    sch.compute_at("B", sch.get_loops("C")[0])
    assert loops(sch, "B") == [128]
    assert "T.where(b < 1)" in sch.mod["main"].script()
    computes_the_same(sch, guarded, (128,), (128,))


@T.prim_func
def pools(A: T.Buffer[(36,), "float32"], C: T.Buffer[(32,), "float32"]):
    B = T.alloc_buffer((34,))
    for i, k in T.grid(34, 3):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = 0.0
            B[v] = B[v] + A[v + vk]
    for i, k in T.grid(32, 3):
        with T.block("C"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[v] = 0.0
            C[v] = C[v] + B[v + vk]


def test_a_reduction_begins_anew_in_each_of_tiles_that_overlap():
    sch = tir.Schedule(pools)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 8])
    sch.compute_at("B", outer)
    assert loops(sch, "B") == [4, 10, 3]
    computes_the_same(sch, pools, (36,), (32,))


def test_an_update_without_its_init_is_not_run_in_tiles_that_overlap():
    sch = tir.Schedule(pools)
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 8])
    with pytest.raises(tir.ScheduleError):
        sch.compute_at("B_update", outer)


@T.prim_func
def flattened(A: T.Buffer[(8, 16), "float32"], C: T.Buffer[(128,), "float32"]):
    B = T.alloc_buffer((8, 16))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i in range(128):
        with T.block("C"):
            v = T.axis.S(128, i)
            C[v] = B[v // 16, v % 16] + 1.0


def test_a_consumer_of_digits_moves_under_the_loop_of_the_first():
    sch = tir.Schedule(flattened)
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert loops(sch, "C") == [8, 16]
    assert "v = T.axis.spatial(128, i * 16 + ax0)" in sch.mod["main"].script()
    computes_the_same(sch, flattened, (8, 16), (128,))


def test_a_consumer_of_digits_moves_under_both():
    sch = tir.Schedule(flattened)
    sch.reverse_compute_at("C", sch.get_loops("B")[1])
    assert loops(sch, "C") == [8, 16]
    computes_the_same(sch, flattened, (8, 16), (128,))


@T.prim_func
def square(A: T.Buffer[(14, 4, 4), "float32"]):
    for h, i, j in T.grid(14, 4, 4):
        with T.block("A"):
            v = T.axis.S(14, h * h // 14)
            vi, vj = T.axis.remap("SS", [i, j])
            A[v, vi, vj] = 1.0


def test_loops_inside_one_that_is_no_digit_are_reordered():
    sch = tir.Schedule(square)
    h, i, j = sch.get_loops("A")
    sch.reorder(j, i)
    assert loops(sch, "A") == [14, 4, 4]
    with pytest.raises(tir.ScheduleError, match="not digits of the loops"):
        sch.reorder(i, h)


@T.prim_func
def in_a_block(A: T.Buffer[(64, 64), "float32"], C: T.Buffer[(64, 64), "float32"]):
    B = T.alloc_buffer((64, 64))
    for i0, j0 in T.grid(8, 8):
        with T.block("scope"):
            i, j = T.axis.remap("SS", [i0, j0])
            for x, y in T.grid(8, 8):
                with T.block("B"):
                    vi = T.axis.S(64, i * 8 + x)
                    vj = T.axis.S(64, j * 8 + y)
                    B[vi, vj] = A[vi, vj] * 2.0
            for x, y in T.grid(8, 8):
                with T.block("C"):
                    vi = T.axis.S(64, i * 8 + x)
                    vj = T.axis.S(64, j * 8 + y)
                    C[vi, vj] = B[vi, vj] + 1.0


@pytest.mark.parametrize(
    "copy", [("read", "C", 0), ("read", "B", 0), ("write", "B", 0), ("write", "C", 0), ("read", "C", "B")]
)
def test_a_copy_inside_a_block_is_of_what_the_block_touches(copy):
    kind, block, buffer = copy
    sch = tir.Schedule(in_a_block)
    new = (sch.cache_read if kind == "read" else sch.cache_write)(block, buffer, "global")
    assert loops(sch, new) == [8, 8]
    assert "T.axis.spatial(64, i * 8 + ax0)" in sch.mod["main"].script()
    computes_the_same(sch, in_a_block, (64, 64), (64, 64))


def test_buffers_are_copied_by_index_name_or_themselves():
    texts = []
    for spec in (0, "B", None):
        sch = tir.Schedule(flattened)
        sch.cache_write("B", sch.get(sch.get_block("B")).writes[0].buffer if spec is None else spec, "local")
        texts.append(sch.mod["main"].script())
    assert texts[0] == texts[1] == texts[2]
    with pytest.raises(ValueError, match='block "C" reads no buffer "A"; it reads B'):
        tir.Schedule(flattened).cache_read("C", "A", "local")


def test_a_copy_of_what_nobody_reads_stands_at_the_end():
    @T.prim_func
    def func(A: T.Buffer[(4,), "float32"], D: T.Buffer[(4,), "float32"], C: T.Buffer[(4,), "float32"]):
        for i in range(4):
            with T.block("C"):
                v = T.axis.S(4, i)
                C[v] = A[v]
        for i in range(4):
            with T.block("D"):
                v = T.axis.S(4, i)
                D[v] = A[v] + 1.0

    sch = tir.Schedule(func)
    sch.cache_write("C", 0, "local")
    text = sch.mod["main"].script()
    assert text.index('T.block("C")') < text.index('T.block("D")') < text.index('T.block("C_local")')


def test_the_copy_of_a_reindexed_read_stands_before_its_block():
    @T.prim_func
    def func(A: T.Buffer[(4, 8), "float32"], D: T.Buffer[(4,), "float32"], C: T.Buffer[(8, 4), "float32"]):
        for i in range(4):
            with T.block("D"):
                v = T.axis.S(4, i)
                D[v] = 1.0
        for i, j in T.grid(8, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj, vi]

    sch = tir.Schedule(func)
    sch.reindex("C", ("read", 0))
    text = sch.mod["main"].script()
    assert text.index('T.block("D")') < text.index('T.block("A_reindex")') < text.index('T.block("C")')


def test_the_init_of_a_reduction_keeps_annotations_and_loop_kinds():
    @T.prim_func
    def sums(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16,), "float32"]):
        for i, k in T.grid(16, 16):
            with T.block("C"):
                T.block_attr({"mark": 1})
                v, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[v] = 0.0
                C[v] = C[v] + A[v, vk]

    sch = tir.Schedule(sums)
    i, k = sch.get_loops("C")
    outer, inner = sch.split(i, [None, 4])
    sch.reorder(outer, k, inner)
    sch.vectorize(inner)
    init = sch.decompose_reduction("C", k)
    assert int(sch.get(init).annotations["mark"]) == 1
    assert sch.get(sch.get_loops(init)[-1]).kind == tir.ForKind.VECTORIZED
    computes_the_same(sch, sums, (16, 16), (16,))


@T.prim_func
def fourteen(C: T.Buffer[(14,), "int32"]):
    for i in range(14):
        with T.block("C"):
            v = T.axis.S(14, i)
            C[v] = 1


OTHER = tir.decl_buffer((4, 4), "int32", name="other")


@pytest.mark.parametrize(
    "value, why",
    [
        (None, "elements that no index is mapped to"),
        (0.5, "is float32, but buffer C holds int32"),
        (lambda i, j: tir.Cast("int64", i), "is int64, but buffer C holds int32"),
        (lambda i, j: tir.BufferLoad(OTHER, [i, j]), "pad_value reads other"),
    ],
)
def test_padding_needs_a_value_that_the_buffer_holds(value, why):
    with pytest.raises(tir.ScheduleError, match=why):
        tir.Schedule(fourteen).transform_layout("C", ("write", 0), lambda i: [i // 4, i % 4], pad_value=value)


@T.prim_func
def halo(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            v = T.axis.S(16, i)
            B[v] = A[v] * 2.0
    for t, a in T.grid(4, 4):
        with T.block("C"):
            v = T.axis.S(16, t * 4 + a)
            T.reads(B[v - 2 : v + 3])
            T.writes(C[v])
            C[v] = T.if_then_else(v >= 2 and v < 14, B[v - 2] + B[v + 2], 0.0, dtype="float32")


def test_the_lower_guard_of_a_halo_is_a_constant_first():
    sch = tir.Schedule(halo)
    sch.compute_at("B", sch.get_loops("C")[0])
    assert loops(sch, "B") == [4, 8]
    assert "T.where(2 <= t * 4 + ax0 and" in sch.mod["main"].script()
    computes_the_same(sch, halo, (16,), (16,))


@T.prim_func
def read_by_groups(A: T.Buffer[(16, 8), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, k0, k1 in T.grid(16, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            vk = T.axis.reduce(64, k0 * 16 + k1)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vk // 8]


def test_a_tile_computes_the_groups_that_a_part_of_the_reduction_reads():
    sch = tir.Schedule(read_by_groups)
    sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[1])
    assert loops(sch, sch.get_block("B")) == [16, 4, 2]
    computes_the_same(sch, read_by_groups, (16, 8), (16,))
