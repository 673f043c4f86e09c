"""pad_einsum and decompose_padding: products over longer axes, and constants written apart from data."""

# ruff: noqa: F821, B007, SIM300 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule.testing import verify_trace_roundtrip


def run(function, inputs, shape, dtype="float32"):
    out = tvm.nd.array(np.full(shape, 77, dtype))
    tvm.build(function, target="llvm")(*[tvm.nd.array(x) for x in inputs], out)
    return out.numpy()


def check(sch, before, after):
    tvm.ir.assert_structural_equal(sch.mod["main"], after)
    verify_trace_roundtrip(sch, before)


def rejects(sch, message, call):
    text = sch.mod["main"].script()
    with pytest.raises(tir.ScheduleError, match=message):
        call(sch)
    assert sch.mod["main"].script() == text
    assert sch.trace.insts[-1].kind.name in ("GetBlock", "GetLoops", "CacheRead", "Split", "SetAxisSeparator")


# ---- pad_einsum ----


@T.prim_func
def cached_matmul(
    A: T.Buffer[(16, 15), "float32"], B: T.Buffer[(15, 15), "float32"], C: T.Buffer[(16, 15), "float32"]
) -> None:
    A_c = T.alloc_buffer((16, 15), "float32")
    B_c = T.alloc_buffer((15, 15), "float32")
    C_c = T.alloc_buffer((16, 15), "float32")
    for i0, i1 in T.grid(16, 15):
        with T.block("A_c"):
            i, j = T.axis.remap("SS", [i0, i1])
            A_c[i, j] = A[i, j]
    for i0, i1 in T.grid(15, 15):
        with T.block("B_c"):
            i, j = T.axis.remap("SS", [i0, i1])
            B_c[i, j] = B[i, j]
    for i0, i1, i2 in T.grid(16, 15, 15):
        with T.block("C_c"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C_c[i, j] = T.float32(0)
            C_c[i, j] = C_c[i, j] + A_c[i, k] * B_c[k, j]
    for i0, i1 in T.grid(16, 15):
        with T.block("C"):
            i, j = T.axis.remap("SS", [i0, i1])
            C[i, j] = C_c[i, j]


def test_operands_grow_with_the_axes_and_hold_zeros():
    @T.prim_func
    def after(
        A: T.Buffer[(16, 15), "float32"], B: T.Buffer[(15, 15), "float32"], C: T.Buffer[(16, 15), "float32"]
    ) -> None:
        A_c = T.alloc_buffer((16, 16), "float32")
        B_c = T.alloc_buffer((16, 16), "float32")
        C_c = T.alloc_buffer((16, 16), "float32")
        for i0, i1 in T.grid(16, 16):
            with T.block("A_c"):
                i, j = T.axis.remap("SS", [i0, i1])
                T.reads(A[i, j])
                T.writes(A_c[i, j])
                A_c[i, j] = T.if_then_else(j < 15, A[i, j], T.float32(0), dtype="float32")
        for i0, i1 in T.grid(16, 16):
            with T.block("B_c"):
                i, j = T.axis.remap("SS", [i0, i1])
                T.reads(B[i, j])
                T.writes(B_c[i, j])
                B_c[i, j] = T.if_then_else(i < 15 and j < 15, B[i, j], T.float32(0), dtype="float32")
        for i0, i1, i2 in T.grid(16, 16, 16):
            with T.block("C_c"):
                i, j, k = T.axis.remap("SSR", [i0, i1, i2])
                with T.init():
                    C_c[i, j] = T.float32(0)
                C_c[i, j] = C_c[i, j] + A_c[i, k] * B_c[k, j]
        for i0, i1 in T.grid(16, 15):
            with T.block("C"):
                i, j = T.axis.remap("SS", [i0, i1])
                C[i, j] = C_c[i, j]

    sch = tir.Schedule(cached_matmul)
    sch.pad_einsum("C_c", [0, 1, 1])
    check(sch, cached_matmul, after)
    assert 'A_c_padded = T.alloc_buffer([16, 16], dtype="float32")' in sch.mod["main"].script()
    a, b = (np.random.default_rng(i).standard_normal(s).astype("float32") for i, s in enumerate([(16, 15), (15, 15)]))
    np.testing.assert_allclose(run(sch.mod["main"], [a, b], (16, 15)), a @ b, rtol=1e-4, atol=1e-5)


def test_what_was_padded_is_tiled_without_guards():
    sch = tir.Schedule(cached_matmul)
    block = sch.get_block("C_c")
    sch.pad_einsum(block, [0, 1, 1])
    i, j, k = sch.get_loops(block)
    jo, ji = sch.split(j, [None, 8])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(i, jo, ko, ki, ji)
    sch.vectorize(ji)
    assert "T.where" not in sch.mod["main"].script()
    a, b = (np.random.default_rng(i).standard_normal(s).astype("float32") for i, s in enumerate([(16, 15), (15, 15)]))
    np.testing.assert_allclose(run(sch.mod["main"], [a, b], (16, 15)), a @ b, rtol=1e-4, atol=1e-5)


def plain_matmul():
    a, b = te.placeholder((16, 15), name="A"), te.placeholder((15, 15), name="B")
    k = te.reduce_axis((0, 15), "k")
    return te.create_prim_func([a, b, te.compute((16, 15), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


def test_a_parameter_does_not_grow():
    sch = tir.Schedule(plain_matmul())
    rejects(
        sch, "is not allocated by the block around, so it cannot grow; cache_", lambda s: s.pad_einsum("C", [0, 0, 1])
    )


def test_cached_operands_of_any_product_can_be_padded():
    sch = tir.Schedule(plain_matmul())
    block = sch.get_block("C")
    sch.cache_read(block, 0, "global")
    sch.cache_read(block, 1, "global")
    sch.cache_write(block, 0, "global")
    sch.pad_einsum(block, [0, 1, 1])
    a, b = (np.random.default_rng(i).standard_normal(s).astype("float32") for i, s in enumerate([(16, 15), (15, 15)]))
    np.testing.assert_allclose(run(sch.mod["main"], [a, b], (16, 15)), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("padding", "message"),
    [([0, 1], "has 3 axes, so it takes as many paddings, not 2"), ([0, -1, 0], "a padding cannot be negative: -1")],
)
def test_paddings_are_one_number_an_axis(padding, message):
    rejects(tir.Schedule(cached_matmul), message, lambda s: s.pad_einsum("C_c", padding))


def test_sums_that_do_not_vanish_are_rejected():
    a = te.placeholder((16, 15), name="A")
    k = te.reduce_axis((0, 15), "k")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((16,), lambda i: te.sum(a[i, k] + 1.0, axis=k), name="C")]))
    block = sch.get_block("C")
    sch.cache_read(block, 0, "global")
    rejects(sch, "does not become 0 where axis k is padded", lambda s: s.pad_einsum(block, [0, 1]))


# ---- decompose_padding ----


@T.prim_func
def pad1d(x: T.Buffer[(128,), "int32"], y: T.Buffer[(140,), "int32"]) -> None:
    for i in T.serial(140):
        with T.block("block"):
            vi = T.axis.spatial(140, i)
            y[vi] = T.if_then_else(vi >= 6 and vi < 134, x[vi - 6], 0, dtype="int32")


def test_a_loop_of_its_own_is_cut_short():
    @T.prim_func
    def after(x: T.Buffer[(128,), "int32"], y: T.Buffer[(140,), "int32"]) -> None:
        for i in T.serial(140):
            with T.block("block_pad_const"):
                vi = T.axis.spatial(140, i)
                T.reads()
                T.writes(y[vi])
                y[vi] = 0
        for i in T.serial(128):
            with T.block("block"):
                vi = T.axis.spatial(128, i)
                T.reads(x[vi])
                T.writes(y[vi + 6])
                y[vi + 6] = x[vi]

    sch = tir.Schedule(pad1d)
    block = sch.get_block("block")
    loop = sch.get_loops(block)[0]
    assert sch.can_decompose_padding(block, loop)
    constant = sch.decompose_padding(block, loop)
    assert [sch.get(b).name_hint for b in (constant, block)] == ["block_pad_const", "block"]
    check(sch, pad1d, after)
    x = np.arange(1, 129, dtype="int32")
    np.testing.assert_array_equal(run(sch.mod["main"], [x], (140,), "int32"), np.pad(x, 6))
    assert not sch.can_decompose_padding(block, sch.get_loops(block)[0])


def test_a_loop_outside_leaves_a_condition():
    @T.prim_func
    def before(
        x: T.Buffer[(T.int64(1), T.int64(128), T.int64(128)), "int32"],
        y: T.Buffer[(T.int64(1), T.int64(140), T.int64(128)), "int32"],
    ) -> None:
        for b, i, j in T.grid(T.int64(1), T.int64(140), T.int64(128)):
            with T.block("block"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                y[vb, vi, vj] = T.if_then_else(vi < T.int64(128), x[vb, vi, vj], 0, dtype="int32")

    @T.prim_func
    def after(
        x: T.Buffer[(T.int64(1), T.int64(128), T.int64(128)), "int32"],
        y: T.Buffer[(T.int64(1), T.int64(140), T.int64(128)), "int32"],
    ) -> None:
        for b, i in T.grid(T.int64(1), T.int64(140)):
            for j in T.serial(T.int64(128)):
                with T.block("block_pad_const"):
                    vb = T.axis.spatial(T.int64(1), T.int64(0))
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads()
                    T.writes(y[vb, vi, vj])
                    y[vb, vi, vj] = 0
            for j in T.serial(T.int64(128)):
                with T.block("block"):
                    vb = T.axis.spatial(T.int64(1), T.int64(0))
                    vi = T.axis.spatial(T.int64(128), i)
                    vj = T.axis.spatial(T.int64(128), j)
                    T.where(i < T.int64(128))
                    T.reads(x[vb, vi, vj])
                    T.writes(y[vb, vi, vj])
                    y[vb, vi, vj] = x[vb, vi, vj]

    sch = tir.Schedule(before)
    block = sch.get_block("block")
    sch.decompose_padding(block, sch.get_loops(block)[2])
    check(sch, before, after)
    x = np.arange(1, 1 + 128 * 128, dtype="int32").reshape(1, 128, 128)
    want = np.pad(x, ((0, 0), (0, 12), (0, 0)))
    np.testing.assert_array_equal(run(sch.mod["main"], [x], (1, 140, 128), "int32"), want)


@T.prim_func
def pool(x: T.Buffer[(1, 4, 25, 25), "int8"], out: T.Buffer[(1, 4, 25, 25), "int8"]) -> None:
    pad = T.alloc_buffer((1, 4, 31, 31), "int8")
    for i0, i1, i2, i3 in T.grid(1, 4, 31, 31):
        with T.block("pad"):
            n, c, h, w = T.axis.remap("SSSS", [i0, i1, i2, i3])
            pad[n, c, h, w] = T.if_then_else(
                3 <= h and h < 28 and 3 <= w and w < 28, x[n, c, h - 3, w - 3], T.int8(0), dtype="int8"
            )
    for i0, i1, i2, i3, i4, i5 in T.grid(1, 4, 25, 25, 7, 7):
        with T.block("out"):
            n, c, h, w, y, z = T.axis.remap("SSSSRR", [i0, i1, i2, i3, i4, i5])
            with T.init():
                out[n, c, h, w] = T.int8(0)
            out[n, c, h, w] = out[n, c, h, w] + pad[n, c, h + y, w + z]


@pytest.mark.parametrize("tile", [25, 5, 8])
@pytest.mark.parametrize("position", [0, 2, 3])
def test_padding_moved_into_tiles_is_decomposed_there(tile, position):
    sch = tir.Schedule(pool)
    block, pad = sch.get_block("out"), sch.get_block("pad")
    n, c, h, w, y, z = sch.get_loops(block)
    ho, hi = sch.split(h, [None, tile])
    wo, wi = sch.split(w, [None, tile])
    sch.reorder(n, ho, wo, c, hi, wi, y, z)
    sch.compute_at(pad, wo)
    sch.decompose_padding(pad, sch.get_loops(pad)[position])
    x = np.random.default_rng(0).integers(-3, 3, (1, 4, 25, 25)).astype("int8")
    padded = np.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)))
    want = sum(padded[:, :, i : i + 25, j : j + 25] for i in range(7) for j in range(7)).astype("int8")
    np.testing.assert_array_equal(run(sch.mod["main"], [x], (1, 4, 25, 25), "int8"), want)


def test_what_is_not_padding_is_rejected():
    a = te.placeholder((16,), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((16,), lambda i: a[i] * 2.0, name="B")]))
    loop = sch.get_loops("B")[0]
    rejects(sch, "does not pad: it must store if_then_else", lambda s: s.decompose_padding("B", loop))


def test_a_condition_that_is_no_box_is_rejected():
    a = te.placeholder((16, 16), name="A")
    zero = tir.const(0, "float32")
    lower = te.compute((16, 16), lambda i, j: tir.if_then_else(i + j < 16, a[i, j], zero), name="B")
    sch = tir.Schedule(te.create_prim_func([a, lower]))
    loop = sch.get_loops("B")[0]
    rejects(sch, "is not a box", lambda s: s.decompose_padding("B", loop))
