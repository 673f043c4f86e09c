"""Layouts: where elements of buffers lie, over which axes blocks run, and that the results stay the same."""

# ruff: noqa: F821, F841, SIM300 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule.analysis import suggest_index_map
from tessera.tir.schedule.testing import verify_trace_roundtrip


def data_of(shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def run(function, inputs, shape):
    out = tvm.nd.array(np.full(shape, np.nan, "float32"))
    tvm.build(function, target="llvm")(*[tvm.nd.array(np.ascontiguousarray(x)) for x in inputs], out)
    return out.numpy()


def check(sch, before, after):
    """The schedule made `after` of `before`; it prints, reads back and replays."""
    tvm.ir.assert_structural_equal(sch.mod["main"], after)
    assert tvm.ir.structural_equal(tvm.script.from_source(sch.mod["main"].script()), sch.mod["main"])
    verify_trace_roundtrip(sch, before)


def rejects(sch, message, call):
    text = sch.mod["main"].script()
    with pytest.raises(tir.ScheduleError, match=message):
        call(sch)
    assert sch.mod["main"].script() == text
    assert sch.trace.insts[-1].kind.name in ("GetBlock", "GetLoops", "CacheRead", "Split", "SetAxisSeparator")


@T.prim_func
def chain(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> None:
    B = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def copy14(A: T.Buffer[(14,), "float32"], C: T.Buffer[(14,), "float32"]) -> None:
    B = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * T.float32(2)
    for i in T.serial(14):
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi] + T.float32(1)


# ---- transform_layout ----


def test_every_access_follows_its_buffer():
    @T.prim_func
    def after(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> None:
        B = T.alloc_buffer((4, 16, 4), "float32")
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj // 4, vi, vj % 4] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj // 4, vi, vj % 4] + T.float32(1)

    for buffer in (("write", 0), "B"):
        sch = tir.Schedule(chain)
        sch.transform_layout("B", buffer, lambda i, j: (j // 4, i, j % 4))
        check(sch, chain, after)
    x = data_of((16, 16))
    np.testing.assert_allclose(run(sch.mod["main"], [x], (16, 16)), x * 2 + 1, rtol=1e-6)


def test_a_parameter_takes_its_new_layout_from_the_caller():
    sch = tir.Schedule(chain)
    sch.transform_layout("B", ("read", 0), lambda i, j: (j, i))
    assert [int(n) for n in sch.mod["main"].buffer_map[sch.mod["main"].params[0]].shape] == [16, 16]
    x = data_of((16, 16))
    np.testing.assert_allclose(run(sch.mod["main"], [x.T], (16, 16)), x * 2 + 1, rtol=1e-6)


def test_indices_of_64_bits_are_mapped_too():
    @T.prim_func
    def before(A: T.Buffer[(T.int64(16),), "float32"], C: T.Buffer[(T.int64(16),), "float32"]) -> None:
        for i in T.serial(T.int64(16)):
            with T.block("C"):
                vi = T.axis.spatial(T.int64(16), i)
                C[vi] = A[vi] + T.float32(1)

    sch = tir.Schedule(before)
    sch.transform_layout("C", "A", lambda i: (i // 4, i % 4))
    assert "A[vi // T.int64(4), vi % T.int64(4)]" in sch.mod["main"].script()
    x = data_of((16,))
    np.testing.assert_allclose(run(sch.mod["main"], [x.reshape(4, 4)], (16,)), x + 1, rtol=1e-6)


def test_separators_between_indices_begin_physical_dimensions():
    sch = tir.Schedule(chain)
    sch.transform_layout("B", "B", lambda i, j: [i // 4, tir.IndexMap.AXIS_SEPARATOR, i % 4, j])
    assert 'B = T.alloc_buffer([4, 4, 16], dtype="float32", axis_separators=[1])' in sch.mod["main"].script()


def test_a_block_that_computes_elements_runs_over_the_padding_too():
    @T.prim_func
    def after(A: T.Buffer[(14,), "float32"], C: T.Buffer[(14,), "float32"]) -> None:
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.reads(A[v0 * 4 + v1])
                T.writes(B[v0, v1])
                B[v0, v1] = T.if_then_else(
                    v0 == 3 and 2 <= v1, T.float32(7), A[v0 * 4 + v1] * T.float32(2), dtype="float32"
                )
        for i in T.serial(14):
            with T.block("C"):
                vi = T.axis.spatial(14, i)
                C[vi] = B[vi // 4, vi % 4] + T.float32(1)

    sch = tir.Schedule(copy14)
    block = sch.get_block("B")
    sch.transform_layout(block, "B", lambda i: (i // 4, i % 4), pad_value=7)
    assert len(sch.get_loops(block)) == 2
    check(sch, copy14, after)
    x = data_of((14,))
    np.testing.assert_allclose(run(sch.mod["main"], [x], (14,)), x * 2 + 1, rtol=1e-6)


def test_padding_of_a_result_is_written():
    sch = tir.Schedule(copy14)
    sch.split(sch.get_loops("C")[0], [2, 7])  # the block no longer stands in a loop of its own axis
    sch.transform_layout("C", "C", lambda i: (i // 4, i % 4), pad_value=lambda i, j: tir.Cast("float32", i * 100 + j))
    assert 'with T.block("C_pad_C"):' in sch.mod["main"].script()
    x = data_of((14,))
    want = np.append(x * 2 + 1, [302, 303]).reshape(4, 4)
    np.testing.assert_allclose(run(sch.mod["main"], [x], (4, 4)), want, rtol=1e-6)


def test_padding_of_an_input_is_assumed():
    sch = tir.Schedule(copy14)
    sch.transform_layout("B", "A", lambda i: (i // 4, i % 4), pad_value=7)
    text = sch.mod["main"].script()
    assert 'with T.block("buffer_A_assumption"):' in text
    assert "T.assume(not(v0 == 3 and 2 <= v1) or A[v0, v1] == T.float32(7)" in text
    x = data_of((14,))
    padded = np.append(x, [7, 7]).astype("float32").reshape(4, 4)
    np.testing.assert_allclose(run(sch.mod["main"], [padded], (14,)), x * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("must keep each element", lambda s: s.transform_layout("B", "B", lambda i, j: (i // 2, j))),
        (
            "has 2 dimensions, the index map takes 1",
            lambda s: s.transform_layout("B", "B", tir.IndexMap.from_func(lambda i: (i,))),
        ),
        ("2 write regions|1 write regions", lambda s: s.transform_layout("B", ("write", 3), lambda i, j: (j, i))),
    ],
)
def test_a_layout_that_cannot_be_is_rejected(message, call):
    rejects(tir.Schedule(chain), message, call)


def test_a_buffer_that_is_not_there_is_named():
    with pytest.raises(ValueError, match='block "B" has no buffer "Z"; it has A, B'):
        tir.Schedule(chain).transform_layout("B", "Z", lambda i, j: (j, i))


def test_a_buffer_whose_address_is_taken_stays():
    @T.prim_func
    def before(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> None:
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = T.call_extern("f", A.data, vi * 16 + vj, dtype="float32")

    rejects(
        tir.Schedule(before),
        "the address of A is taken",
        lambda s: s.transform_layout("C", "A", lambda i, j: (j, i)),
    )


# ---- set_axis_separator ----


def test_separators_are_positions_in_ascending_order():
    sch = tir.Schedule(chain)
    sch.set_axis_separator("B", ("write", 0), [1])
    assert "axis_separators=[1]" in sch.mod["main"].script()
    rejects(sch, "ascending order, from 0 to 2", lambda s: s.set_axis_separator("B", "B", [2, 1]))


# ---- transform_block_layout ----


def test_a_block_runs_over_its_axes_in_another_shape():
    @T.prim_func
    def after(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> None:
        B = T.alloc_buffer((16, 16), "float32")
        for ax0 in T.serial(256):
            with T.block("B"):
                v0 = T.axis.spatial(256, ax0)
                B[v0 // 16, v0 % 16] = A[v0 // 16, v0 % 16] * T.float32(2)
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    sch = tir.Schedule(chain)
    block = sch.get_block("B")
    sch.transform_block_layout(block, lambda i, j: (i * 16 + j,))
    assert len(sch.get_loops(block)) == 1
    check(sch, chain, after)
    x = data_of((16, 16))
    np.testing.assert_allclose(run(sch.mod["main"], [x], (16, 16)), x * 2 + 1, rtol=1e-6)


def matmul(n=16):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    return te.create_prim_func([a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


def test_a_reduction_is_tiled_by_its_block_layout():
    sch = tir.Schedule(matmul())
    sch.transform_block_layout("C", lambda i, j, k: (i // 4, j // 4, k // 8, i % 4, j % 4, k % 8))
    assert 'v0, v1, v2, v3, v4, v5 = T.axis.remap("SSRSSR", [ax0, ax1, ax2, ax3, ax4, ax5])' in sch.mod["main"].script()
    a, b = data_of((16, 16)), data_of((16, 16), 1)
    np.testing.assert_allclose(run(sch.mod["main"], [a, b], (16, 16)), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("mixes spatial axes with others", lambda s: s.transform_block_layout("C", lambda i, j, k: (i, j * 16 + k))),
        ("must be one to one", lambda s: s.transform_block_layout("C", lambda i, j, k: (i // 2, j, k))),
        (
            "has 3 axes, the index map takes 1",
            lambda s: s.transform_block_layout("C", tir.IndexMap.from_func(lambda i: [i])),
        ),
    ],
)
def test_a_block_layout_that_cannot_be_is_rejected(message, call):
    rejects(tir.Schedule(matmul()), message, call)


def test_a_block_whose_loops_are_tiled_keeps_its_axes():
    sch = tir.Schedule(chain)
    sch.split(sch.get_loops("B")[0], [4, 4])
    rejects(sch, 'each axis of block "B" must be bound', lambda s: s.transform_block_layout("B", lambda i, j: (j, i)))


# ---- reindex ----


def test_a_block_reads_its_input_at_its_own_axes():
    @T.prim_func
    def before(A: T.Buffer[(8, 16), "float32"], B: T.Buffer[(16, 8), "float32"]) -> None:
        for i, j in T.grid(16, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] * T.float32(2)

    @T.prim_func
    def after(A: T.Buffer[(8, 16), "float32"], B: T.Buffer[(16, 8), "float32"]) -> None:
        A_reindex = T.alloc_buffer((16, 8), "float32")
        for ax0, ax1 in T.grid(16, 8):
            with T.block("A_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_reindex[v0, v1] = A[v1, v0]
        for i, j in T.grid(16, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_reindex[vi, vj] * T.float32(2)

    sch = tir.Schedule(before)
    copy = sch.reindex("B", "A")
    assert sch.get(copy).name_hint == "A_reindex"
    check(sch, before, after)
    x = data_of((8, 16))
    np.testing.assert_allclose(run(sch.mod["main"], [x], (16, 8)), x.T * 2, rtol=1e-6)


def test_a_result_is_written_at_the_axes_of_its_block():
    sch = tir.Schedule(matmul())
    sch.reindex("C", ("write", 0))
    text = sch.mod["main"].script()
    assert "for ax0, ax1, ax2 in T.grid(16, 16, 1):" in text
    assert "C[v0, v1] = C_reindex[v0, v1]" in text
    a, b = data_of((16, 16)), data_of((16, 16), 1)
    np.testing.assert_allclose(run(sch.mod["main"], [a, b], (16, 16)), a @ b, rtol=1e-4, atol=1e-5)


def test_convolution_becomes_a_matmul():
    d, w = te.placeholder((1, 4, 10, 10), name="D"), te.placeholder((8, 4, 3, 3), name="W")
    c, y, x = te.reduce_axis((0, 4), "c"), te.reduce_axis((0, 3), "y"), te.reduce_axis((0, 3), "x")
    conv = te.compute(
        (1, 8, 8, 8),
        lambda n, f, h, q: te.sum(d[n, c, h + y, q + x] * w[f, c, y, x], axis=[c, y, x]),
        name="conv",
    )
    before = te.create_prim_func([d, w, conv])
    sch = tir.Schedule(before)
    block = sch.get_block("conv")
    data, weight, result = sch.reindex(block, "D"), sch.reindex(block, "W"), sch.reindex(block, "conv")
    sch.transform_layout(block, "D_reindex", lambda h, w, c, y, x: (h * 8 + w, c * 9 + y * 3 + x))
    sch.transform_layout(block, "W_reindex", lambda f, c, y, x: (f, c * 9 + y * 3 + x))
    sch.transform_layout(block, "conv_reindex", lambda f, h, w: (h * 8 + w, f))
    sch.transform_block_layout(block, lambda n, f, h, w, c, y, x: (n, h * 8 + w, f, c * 9 + y * 3 + x))
    assert "D_reindex[v1, v3] * W_reindex[v2, v3]" in sch.mod["main"].script()
    inputs = [data_of((1, 4, 10, 10)), data_of((8, 4, 3, 3), 1)]
    want = run(before, inputs, (1, 8, 8, 8))
    np.testing.assert_allclose(run(sch.mod["main"], inputs, (1, 8, 8, 8)), want, rtol=1e-4, atol=1e-5)


def test_a_block_that_reads_several_elements_is_not_reindexed():
    a = te.placeholder((16, 16), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((16, 16), lambda i, j: a[i, j] + a[j, i], name="B")]))
    rejects(sch, "touches A at several indices", lambda s: s.reindex("B", ("read", 0)))


# ---- suggest_index_map ----


def loops_over(extents):
    names = [tir.Var(f"i{n}", "int32") for n in range(len(extents))]
    return names, [tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0)) for var, extent in zip(names, extents)]


@pytest.mark.parametrize(
    ("shape", "extents", "indices", "want"),
    [
        (
            [8, 256],
            [32, 64],
            lambda i, j: [i // 16 * 4 + j // 16, i % 16 * 16 + j % 16],
            lambda x, y: [x // 4, y // 16, x % 4, y % 16],
        ),
        ([8], [2, 32], lambda i, j: [j % 4 * 2 + i], lambda x: [x % 2, x // 2]),
        ([4, 6], [6, 4], lambda i, j: [j, i], lambda x, y: [y, x]),
    ],
)
def test_the_layout_for_a_walk_has_its_outer_digits_first(shape, extents, indices, want):
    names, loops = loops_over(extents)
    found = suggest_index_map(tir.decl_buffer(shape), indices(*names), loops, True)
    assert found.is_equivalent_to(tir.IndexMap.from_func(want))


def test_a_walk_that_is_no_digits_of_loops_has_no_layout():
    names, loops = loops_over([4, 4])
    assert suggest_index_map(tir.decl_buffer([16]), [names[0] * names[1]], loops) is None


def test_a_buffer_of_an_inner_scope_is_laid_out_there():
    a = te.placeholder((12, 10), name="A")
    b = te.compute((12, 10), lambda i, j: a[i, j] * 2.0, name="B")
    func = te.create_prim_func([a, te.compute((12, 10), lambda i, j: b[i, j] + 1.0, name="C")])
    data = data_of((12, 10))
    for change in (
        lambda sch: sch.transform_layout("B", ("write", 0), lambda i, j: (i, j // 4, j % 4), pad_value=0),
        lambda sch: sch.set_scope("B", 0, "global.workspace"),
        lambda sch: sch.set_axis_separator("B", ("write", 0), [1]),
        lambda sch: sch.compute_inline("B"),
    ):
        sch = tir.Schedule(func)
        sch.blockize(sch.get_loops("B")[0])  # B_o holds B and, after the next line, its copy
        sch.cache_write("B", 0, "global")
        change(sch)
        assert tvm.ir.structural_equal(tvm.script.from_source(sch.mod.script()), sch.mod)
        if "axis_separators" not in sch.mod.script():
            np.testing.assert_allclose(run(sch.mod["main"], [data], (12, 10)), data * 2 + 1, rtol=1e-6)


def test_a_reduction_runs_over_its_padding():
    @T.prim_func
    def before(A: T.Buffer[(14, 8), "float32"], B: T.Buffer[14, "float32"]) -> None:
        for i, k in T.grid(14, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def after(A: T.Buffer[(14, 8), "float32"], B: T.Buffer[(4, 4), "float32"]) -> None:
        for i0, i1, k in T.grid(4, 4, 8):
            with T.block("B"):
                v0, v1, vk = T.axis.remap("SSR", [i0, i1, k])
                T.reads(A[v0 * 4 + v1, vk])
                T.writes(B[v0, v1])
                with T.init():
                    B[v0, v1] = T.if_then_else(v0 == 3 and 2 <= v1, T.float32(7), T.float32(0), dtype="float32")
                B[v0, v1] = T.if_then_else(
                    v0 == 3 and 2 <= v1, T.float32(7), B[v0, v1] + A[v0 * 4 + v1, vk], dtype="float32"
                )

    sch = tir.Schedule(before)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=7.0)
    check(sch, before, after)
    data = data_of((14, 8))
    got = run(sch.mod["main"], [data], (4, 4)).reshape(16)
    np.testing.assert_allclose(got, [*data.sum(axis=1), 7, 7], rtol=1e-5)


def test_padding_holds_values_of_the_type_of_its_buffer():
    @T.prim_func
    def counts(A: T.Buffer[14, "int32"], B: T.Buffer[14, "int32"]) -> None:
        for i in range(14):
            with T.block("B"):
                v = T.axis.spatial(14, i)
                B[v] = A[v]

    sch = tir.Schedule(counts)
    sch.get_block("B")
    rejects(
        sch,
        "pad_value 0.5f is float32, but buffer B holds int32",
        lambda s: s.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=0.5),
    )
