"""What each primitive rewrites a program of blocks to, what it rejects, and that the result computes the same."""

# ruff: noqa: F821 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T


def matmul(n=16):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def matmul_relu(n=16):
    a, b, c = matmul(n)
    return [a, b, te.compute((n, n), lambda i, j: tir.Max(c[i, j], tir.const(0.0, "float32")), name="D")]


def chain(n=16):
    a = te.placeholder((n, n), name="A")
    b = te.compute((n, n), lambda i, j: a[i, j] * 2.0, name="B")
    return [a, te.compute((n, n), lambda i, j: b[i, j] + 1.0, name="C")]


def schedule_of(tensors):
    return tir.Schedule(te.create_prim_func(tensors))


def body(sch):
    """The loops and blocks, without head, comments and allocations."""
    lines = sch.mod["main"].script().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("for "))
    return "\n".join(line[4:] for line in lines[start:])


def check_result(sch, reference, inputs):
    """The scheduled function computes `reference` of random inputs."""
    data = [np.random.default_rng(i).standard_normal(shape).astype("float32") for i, shape in enumerate(inputs)]
    want = reference(*data)
    out = tvm.nd.array(np.full(want.shape, np.nan, "float32"))
    tvm.build(sch.mod["main"], target="llvm")(*[tvm.nd.array(x) for x in data], out)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-4, atol=1e-5)


def relu_of_product(a, b):
    return np.maximum(a @ b, 0)


def test_a_split_that_does_not_divide_guards_its_blocks():
    sch = schedule_of(matmul(10))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.split(i, [None, 4])
    sch.split(j, [3, None])
    text = sch.mod["main"].script()
    assert "T.where(i0_0 * 4 + i0_1 < 10 and i1_0 * 4 + i1_1 < 10)" in text
    check_result(sch, lambda a, b: a @ b, [(10, 10), (10, 10)])


def test_tiles_and_loop_kinds_compute_the_same():
    sch = schedule_of(matmul(16))
    i, j, k = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 8])
    sch.reorder(io, jo, k, ii, ji)
    fused = sch.fuse(io, jo)
    sch.parallel(fused)
    sch.unroll(ii)
    sch.vectorize(ji)
    check_result(sch, lambda a, b: a @ b, [(16, 16), (16, 16)])


def test_an_inlined_block_disappears():
    sch = schedule_of(chain())
    inlined = sch.get_block("B")
    sch.compute_inline(inlined)
    assert body(sch) == (
        "for i0, i1 in T.grid(16, 16):\n"
        '    with T.block("C"):\n'
        '        i, j = T.axis.remap("SS", [i0, i1])\n'
        "        T.reads(A[i, j])\n"
        "        T.writes(C[i, j])\n"
        "        C[i, j] = A[i, j] * T.float32(2) + T.float32(1)"
    )
    check_result(sch, lambda a: a * 2 + 1, [(16, 16)])
    with pytest.raises(ValueError, match="no longer exists"):
        sch.get(inlined)


def test_a_block_inlined_into_its_producer_computes_the_same():
    sch = schedule_of(chain())
    sch.reverse_compute_inline(sch.get_block("C"))
    assert "C[i, j] = A[i, j] * T.float32(2) + T.float32(1)" in sch.mod["main"].script()
    check_result(sch, lambda a: a * 2 + 1, [(16, 16)])


def test_caches_moved_into_tiles_compute_the_same():
    sch = schedule_of(matmul_relu(16))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 8])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(io, jo, ko, ii, ki, ji)
    for index in (0, 1):
        sch.compute_at(sch.cache_read(block, index, "global"), ko)
    sch.reverse_compute_at(sch.get_block("D"), jo)
    sch.decompose_reduction(block, ko)
    check_result(sch, relu_of_product, [(16, 16), (16, 16)])


def test_partial_sums_of_rfactor_run_in_parallel():
    sch = schedule_of(matmul(16))
    block = sch.get_block("C")
    _, ki = sch.split(sch.get_loops(block)[2], [None, 4])
    partial = sch.rfactor(ki, 0)
    assert [sch.get(b).name_hint for b in (partial, block)] == ["C_rf", "C"]
    sch.parallel(sch.get_loops(partial)[3])
    check_result(sch, lambda a, b: a @ b, [(16, 16), (16, 16)])


def test_rfactor_takes_loops_of_reductions_only():
    sch = schedule_of(matmul())
    with pytest.raises(tir.ScheduleError, match="loop i0 belongs to the spatial axis i of block"):
        sch.rfactor(sch.get_loops(sch.get_block("C"))[0], 0)


def test_tails_of_moved_blocks_are_guarded():
    sch = schedule_of(chain(10))
    i, _ = sch.get_loops(sch.get_block("C"))
    io, _ = sch.split(i, [None, 4])
    sch.compute_at(sch.get_block("B"), io)
    assert "T.where(i0_0 * 4 + ax0 < 10)" in sch.mod["main"].script()
    check_result(sch, lambda a: a * 2 + 1, [(10, 10)])


def test_written_through_a_cache_the_result_is_the_same():
    sch = schedule_of(matmul(16))
    block = sch.get_block("C")
    copy = sch.cache_write(block, 0, "local")
    i, _, _ = sch.get_loops(block)
    sch.reverse_compute_at(copy, i)
    check_result(sch, lambda a, b: a @ b, [(16, 16), (16, 16)])


def test_a_consumer_that_needs_neighbours_is_not_moved_to_its_producer():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((15,), lambda i: b[i] + b[i + 1], name="C")
    sch = schedule_of([a, c])
    (loop,) = sch.get_loops(sch.get_block("B"))
    before = sch.mod["main"].script()
    with pytest.raises(tir.ScheduleError, match="needs more of dimension 0 of B"):
        sch.reverse_compute_at(sch.get_block("C"), loop)
    assert sch.mod["main"].script() == before


@pytest.mark.parametrize("primitive", ["parallel", "vectorize"])
def test_iterations_of_a_reduction_stay_in_order(primitive):
    sch = schedule_of(matmul())
    k = sch.get_loops(sch.get_block("C"))[2]
    with pytest.raises(tir.ScheduleError, match='with regard to loop i2 because axis k of block "C", bound to loop i2'):
        getattr(sch, primitive)(k)


def test_a_bound_loop_is_not_split():
    sch = schedule_of(matmul())
    i = sch.get_loops(sch.get_block("C"))[0]
    sch.bind(i, "threadIdx.x")
    with pytest.raises(tir.ScheduleError, match="loop i0 is bound to threadIdx.x; split it before binding"):
        sch.split(i, [None, 4])


def test_a_missing_block_is_told_with_those_there_are():
    with pytest.raises(tir.ScheduleError, match='name: nope; the blocks of "main" are root, B, C'):
        schedule_of(chain()).get_block("nope")


def test_a_loop_that_was_split_is_gone():
    sch = schedule_of(matmul())
    i = sch.get_loops(sch.get_block("C"))[0]
    sch.split(i, [None, 4])
    with pytest.raises(ValueError, match="The loop no longer exists in the IRModule: i0"):
        sch.parallel(i)


def test_a_copy_goes_its_own_way():
    sch = schedule_of(matmul())
    i, _, _ = sch.get_loops(sch.get_block("C"))
    other = sch.copy()
    other.split(i, [None, 4])
    assert sch.get(i).loop_var.name == "i0"
    assert len(other.trace.insts) == len(sch.trace.insts) + 1


def test_a_trace_does_the_same_again_from_python_and_from_json():
    sch = schedule_of(matmul())
    i, j, _ = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, [None, 4])
    sch.reorder(j, io)
    sch.annotate(ii, "note", "hello")
    again, from_json = schedule_of(matmul()), schedule_of(matmul())
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), from_json)
    tvm.ir.assert_structural_equal(sch.mod, again.mod)
    tvm.ir.assert_structural_equal(sch.mod, from_json.mod)
    assert str(from_json.trace) == str(sch.trace)


def test_the_init_that_a_reduction_left_may_be_vectorized():
    sch = schedule_of(matmul())
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, k, j)
    init = sch.decompose_reduction(block, k)
    sch.vectorize(sch.get_loops(init)[-1])
    assert "in T.vectorized(16):\n" in body(sch)
    check_result(sch, lambda a, b: a @ b, [(16, 16), (16, 16)])


def decomposed_product():
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), "k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 16), lambda i, j: C[i, j] * 2.0, name="D")
    sch = tir.Schedule(te.create_prim_func([A, B, D]))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.decompose_reduction("C", k)
    return sch


def test_cache_write_takes_all_blocks_that_build_the_buffer_up():
    sch = decomposed_product()
    copy = sch.cache_write(sch.get_block("C_update"), 0, "local")
    assert [region.buffer.name for region in sch.get(sch.get_block("C_init")).writes] == ["C_local"]
    assert sch.get(sch.get_block("C_update")).writes[0].buffer.name == "C_local"
    assert sch.get(sch.get_block("D")).reads[0].buffer.name == "C"
    sch.reverse_compute_at(copy, sch.get_loops("C_update")[0])
    x, y = np.random.rand(2, 16, 16).astype("float32")
    out = tvm.nd.empty((16, 16))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(x), tvm.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), 2 * (x @ y), rtol=1e-5)


def test_cache_write_of_halves_that_two_blocks_write_is_rejected():
    @T.prim_func
    def halves(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        for i in T.serial(8):
            with T.block("low"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in T.serial(8):
            with T.block("high"):
                vi = T.axis.spatial(8, i)
                B[vi + 8] = A[vi + 8]

    sch = tir.Schedule(halves)
    before = sch.mod.script()
    with pytest.raises(tir.ScheduleError, match="none of them is known to write all that the others do"):
        sch.cache_write(sch.get_block("low"), 0, "local")
    assert sch.mod.script() == before


def test_cache_write_of_what_was_there_before_is_rejected():
    @T.prim_func
    def adds(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        for i in T.serial(16):
            with T.block("first"):
                vi = T.axis.spatial(16, i)
                B[vi] = B[vi] + A[vi]
        for i in T.serial(16):
            with T.block("second"):
                vi = T.axis.spatial(16, i)
                B[vi] = B[vi] * 2.0

    sch = tir.Schedule(adds)
    with pytest.raises(tir.ScheduleError, match='block "first" adds to what B holds already'):
        sch.cache_write(sch.get_block("second"), 0, "local")
