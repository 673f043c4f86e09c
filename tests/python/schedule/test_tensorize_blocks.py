"""tensorize: a piece of program is done by an intrinsic whose description it matches."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule.testing import verify_trace_roundtrip


@T.prim_func
def dot4_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", offset_factor=1)
    C = T.match_buffer(c, (1,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        for i in T.serial(4):
            with T.block("update"):
                vi = T.axis.reduce(4, i)
                C[0] = C[0] + A[vi] * B[vi]


@T.prim_func
def dot4_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", offset_factor=1)
    C = T.match_buffer(c, (1,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        C[0] = C[0] + (A[0] * B[0] + A[1] * B[1]) + (A[2] * B[2] + A[3] * B[3])


@T.prim_func
def outer8_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (2, 4), "float32", offset_factor=1)
    B = T.match_buffer(b, (4, 8), "float32", offset_factor=1)
    C = T.match_buffer(c, (2, 8), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:2, 0:8], A[0:2, 0:4], B[0:4, 0:8])
        T.writes(C[0:2, 0:8])
        for i, j, k in T.grid(2, 8, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def outer8_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    sa = T.var("int32")
    sb = T.var("int32")
    sc = T.var("int32")
    A = T.match_buffer(a, (2, 4), "float32", offset_factor=1, strides=[sa, 1])
    B = T.match_buffer(b, (4, 8), "float32", offset_factor=1, strides=[sb, 1])
    C = T.match_buffer(c, (2, 8), "float32", offset_factor=1, strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:2, 0:8], A[0:2, 0:4], B[0:4, 0:8])
        T.writes(C[0:2, 0:8])
        for k, i in T.grid(4, 2):
            C[i, T.ramp(0, 1, 8)] = C[i, T.ramp(0, 1, 8)] + T.broadcast(A[i, k], 8) * B[k, T.ramp(0, 1, 8)]


tir.TensorIntrin.register("test.dot4", dot4_desc, dot4_impl)
tir.TensorIntrin.register("test.outer8", outer8_desc, outer8_impl)


def matmul(n=16, transposed=False):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    element = (lambda k, j: b[j, k]) if transposed else (lambda k, j: b[k, j])
    return te.create_prim_func(
        [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * element(k, j), axis=k), name="C")]
    )


def check_product(sch, n=16, transposed=False):
    a, b = (np.random.default_rng(i).standard_normal((n, n)).astype("float32") for i in range(2))
    out = tvm.nd.array(np.full((n, n), np.nan, "float32"))
    tvm.build(sch.mod["main"], target="llvm")(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ (b.T if transposed else b), rtol=1e-4, atol=1e-5)


def test_the_description_gives_way_to_the_implementation():
    sch = tir.Schedule(matmul(transposed=True))
    block = sch.get_block("C")
    ko, ki = sch.split(sch.get_loops(block)[2], [None, 4])
    sch.decompose_reduction(block, ko)
    sch.tensorize(ki, "test.dot4")
    text = sch.mod["main"].script()
    assert 'with T.block("C_update_o"):' in text
    assert "A_1 = T.match_buffer(A[i, k_o * 4 : k_o * 4 + 4], [4]" in text
    assert "C_1 = T.match_buffer(C[i, j], [1]" in text
    check_product(sch, transposed=True)
    verify_trace_roundtrip(sch, matmul(transposed=True))


def test_an_init_that_stands_outside_stays():
    sch = tir.Schedule(matmul(transposed=True))
    _, ki = sch.split(sch.get_loops(sch.get_block("C"))[2], [None, 4])
    sch.tensorize(ki, "test.dot4")
    assert "with T.init():" in sch.mod["main"].script()
    check_product(sch, transposed=True)


def tiled(n=16):
    sch = tir.Schedule(matmul(n))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 2])
    jo, ji = sch.split(j, [None, 8])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(io, jo, ko, ii, ji, ki)
    return sch, block, (io, jo, ko, ii, ji, ki)


def test_a_tile_is_done_by_vectors_with_the_strides_of_the_buffers():
    sch, block, (io, _, ko, ii, _, _) = tiled()
    sch.parallel(io)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ii, "test.outer8")
    check_product(sch)
    verify_trace_roundtrip(sch, matmul())


def test_a_block_made_before_is_tensorized_as_it_is():
    sch, block, (_, _, ko, ii, _, _) = tiled()
    sch.decompose_reduction(block, ko)
    sch.tensorize(sch.blockize(ii), "test.outer8")
    check_product(sch)


def test_caches_of_a_tensorized_program_compute_the_same():
    sch, block, (_, jo, ko, ii, _, _) = tiled()
    for index in (0, 1):
        sch.compute_at(sch.cache_read(block, index, "global"), ko)
    sch.reverse_compute_at(sch.cache_write(block, 0, "global"), jo)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ii, "test.outer8")
    check_product(sch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s, block, loops: s.reorder(loops[4], loops[3]),
            "the range of loop i1_1 differs: 8 here, 2 in the desc",
        ),
        (lambda s, block, loops: s.unroll(loops[5]), "the kind of loop i2_1 differs"),
        (lambda s, block, loops: s.annotate(loops[4], "note", 1), "the annotations of loop i1_1 differs"),
        (
            lambda s, block, loops: s.set_scope(block, 0, "local"),
            "C_global_local lies in local memory, C of the description in",
        ),
    ],
)
def test_what_does_not_match_is_rejected_and_nothing_changes(change, message):
    sch, block, loops = tiled()
    sch.decompose_reduction(block, loops[2])
    if "local" in message:
        sch, block, loops = tiled()
        sch.cache_write(block, 0, "global")
        sch.decompose_reduction(block, loops[2])
    change(sch, block, loops)
    before, steps = sch.mod["main"].script(), len(sch.trace.insts)
    outermost = loops[4] if "i1_1 differs: 8" in message else loops[3]
    with pytest.raises(tir.ScheduleError, match=message):
        sch.tensorize(outermost, "test.outer8")
    assert sch.mod["main"].script() == before
    assert len(sch.trace.insts) == steps


def test_another_computation_is_rejected():
    a, b = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] - b[j, k], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    _, ki = sch.split(sch.get_loops(sch.get_block("C"))[2], [None, 4])
    with pytest.raises(
        tir.ScheduleError, match='does not do what tensor intrinsic "test.dot4" describes: the expressions'
    ):
        sch.tensorize(ki, "test.dot4")


def test_an_index_that_runs_along_another_dimension_is_rejected():
    sch = tir.Schedule(matmul())  # B[k, j]: the description's B runs along its last dimension
    _, ki = sch.split(sch.get_loops(sch.get_block("C"))[2], [None, 4])
    with pytest.raises(tir.ScheduleError, match="index 0 of B is .*, which the description of B has no dimension for"):
        sch.tensorize(ki, "test.dot4")


def test_an_intrinsic_that_is_not_there_is_named():
    sch = tir.Schedule(matmul())
    with pytest.raises(ValueError, match="TensorIntrin 'test.nowhere' is not registered"):
        sch.tensorize(sch.get_loops(sch.get_block("C"))[2], "test.nowhere")


def test_a_name_is_registered_once_unless_it_is_replaced():
    with pytest.raises(ValueError, match="exists already"):
        tir.TensorIntrin.register("test.dot4", dot4_desc, dot4_impl)
    tir.TensorIntrin.register("test.dot4", dot4_desc, dot4_impl, override=True)
    tvm.ir.assert_structural_equal(tir.TensorIntrin.get("test.dot4").desc, dot4_desc)


def test_what_an_intrinsic_reads_through_a_view_is_not_inlined():
    sch, block, (_, _, ko, ii, _, _) = tiled()
    copy = sch.cache_read(block, 0, "global")
    sch.decompose_reduction(block, ko)
    sch.tensorize(ii, "test.outer8")
    before = sch.mod["main"].script()
    with pytest.raises(tir.ScheduleError, match="through match_buffer, so the block that writes it cannot be inlined"):
        sch.compute_inline(copy)
    assert sch.mod["main"].script() == before
