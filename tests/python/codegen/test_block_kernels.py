"""Programs of blocks on devices with threads: `tir.Schedule` binds, passes lower, the device computes."""

import shutil

import numpy as np
import pytest
import tessera
from tessera import te, tir
from tessera.contrib import nvcc

TARGETS = [
    pytest.param("opencl", marks=pytest.mark.skipif(not tessera.opencl(0).exist, reason="no OpenCL device")),
    pytest.param(
        "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not tessera.cuda(0).exist, reason="no CUDA device")]
    ),
]


def row_reduction(combine, rows=6, columns=100, dtype="float32"):
    a = te.placeholder((rows, columns), dtype, name="A")
    k = te.reduce_axis((0, columns), "k")
    b = te.compute((rows,), lambda i: combine(a[i, k], axis=k), name="B")
    return te.create_prim_func([a, b])


def run(sch, kind, inputs, shape, dtype="float32"):
    mod = tessera.build(sch.mod, target=kind)
    dev = tessera.device(kind, 0)
    out = tessera.nd.array(np.zeros(shape, dtype), dev)
    mod["main"](*[tessera.nd.array(x, dev) for x in inputs], out)
    return out.numpy()


def rows_by_threads(combine, threads, **kwargs):
    sch = tir.Schedule(row_reduction(combine, **kwargs))
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    ko, ki = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(ki, "threadIdx.x")
    return sch


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("threads", [1, 16, 32, 33, 100])
def test_a_block_reduces_across_threads(kind, threads):
    x = np.random.default_rng(0).standard_normal((6, 100)).astype("float32")
    got = run(rows_by_threads(te.sum, threads), kind, [x], 6)
    np.testing.assert_allclose(got, x.sum(1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_other_reductions_start_from_their_identity(kind, name):
    x = np.random.default_rng(0).integers(-50, 50, (6, 100)).astype("int32")
    got = run(rows_by_threads(getattr(te, name), 32, dtype="int32"), kind, [x], 6, "int32")
    np.testing.assert_array_equal(got, getattr(x, name)(1))


def argmax_by_threads(threads, rows=6, columns=100):
    """The largest element of each row and its index; of equal ones the first. No threads: a block walks through its row."""
    indices, values = te.placeholder((rows, columns), "int32", name="I"), te.placeholder((rows, columns), name="V")
    k = te.reduce_axis((0, columns), "k")

    def keep(x, y):
        is_left = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0]))
        return tir.Select(is_left, x[0], y[0]), tir.Select(is_left, x[1], y[1])

    argmax = te.comm_reducer(keep, lambda i, v: (tir.const(2**31 - 1, i), te.min_value(v)), name="argmax")
    where, most = te.compute((rows,), lambda i: argmax((indices[i, k], values[i, k]), axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([indices, values, where, most]))
    i, k = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    if threads:
        _, ki = sch.split(k, [None, threads])
        sch.bind(ki, "threadIdx.x")
    return sch


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("threads", [0, 1, 16, 32, 33])
def test_a_block_reduces_tuples_across_threads(kind, threads):
    values = np.random.default_rng(0).integers(-9, 9, (6, 100)).astype("float32")
    indices = np.broadcast_to(np.arange(100, dtype="int32"), (6, 100)).copy()
    mod = tessera.build(argmax_by_threads(threads).mod, target=kind)
    dev = tessera.device(kind, 0)
    out = [tessera.nd.array(np.zeros(6, dtype), dev) for dtype in ("int32", "float32")]
    mod["main"](tessera.nd.array(indices, dev), tessera.nd.array(values, dev), *out)
    np.testing.assert_array_equal(out[0].numpy(), values.argmax(1))
    np.testing.assert_array_equal(out[1].numpy(), values.max(1))


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
def test_no_load_of_a_buffer_that_the_kernel_writes_is_non_coherent():
    source = tessera.build(argmax_by_threads(0).mod, target="cuda -arch=sm_80").imported_modules[0].get_source()
    assert "__restrict__" not in source
    assert "ld.global.nc" not in nvcc.compile_in_process(source, "sm_80").decode()


def test_the_steps_of_a_reduction_of_tuples_across_threads():
    text = tir.transform.LowerCrossThreadReduction()(argmax_by_threads(25).mod)["main"].script()
    order = [
        'T.block("B_in_thread_init")',
        "in_thread_B_v0[0] = 2147483647",
        "in_thread_B_v1[0] = T.float32(-3",
        'T.block("B_in_thread")',
        "T.tvm_thread_allreduce(T.uint32(2), in_thread_B_v0[0], in_thread_B_v1[0], True, "
        "cross_thread_B_v0[0], cross_thread_B_v1[0], ",
        'T.block("B_write_back")',
        "B_v0[i] = cross_thread_B_v0[0]",
        "B_v1[i] = cross_thread_B_v1[0]",
    ]
    offsets = [text.find(words) for words in order]
    assert -1 not in offsets and offsets == sorted(offsets), (offsets, text)


@pytest.mark.parametrize("kind", TARGETS)
def test_rows_of_a_block_have_threads_of_their_own(kind):
    sch = tir.Schedule(row_reduction(te.sum, rows=8, columns=64))
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 4])
    ko, ki = sch.split(k, [None, 16])
    sch.bind(io, "blockIdx.x")
    sch.bind(ii, "threadIdx.y")
    sch.bind(ki, "threadIdx.x")
    x = np.random.default_rng(0).standard_normal((8, 64)).astype("float32")
    np.testing.assert_allclose(run(sch, kind, [x], 8), x.sum(1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_matmul_of_blocks_through_shared_memory(kind):
    n = 32
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 8])
    jo, ji = sch.split(j, [None, 8])
    ko, ki = sch.split(k, [None, 8])
    sch.reorder(io, jo, ii, ji, ko, ki)
    for loop, thread in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (ii, "threadIdx.y"), (ji, "threadIdx.x")):
        sch.bind(loop, thread)
    for index in (0, 1):
        cached = sch.cache_read(block, index, "shared")
        sch.compute_at(cached, ko)
        y, x = sch.get_loops(cached)[-2:]
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    x, y = (np.random.default_rng(s).standard_normal((n, n)).astype("float32") for s in (0, 1))
    np.testing.assert_allclose(run(sch, kind, [x, y], (n, n)), x @ y, rtol=1e-4, atol=1e-4)


def test_the_three_steps_of_a_reduction_across_threads():
    mod = tir.transform.LowerCrossThreadReduction()(rows_by_threads(te.sum, 25).mod)
    text = mod["main"].script()
    order = [
        'T.thread_binding(25, thread="threadIdx.x")',
        'T.block("B_in_thread_init")',
        "in_thread_B[0] = T.float32(0)",
        "in T.serial(4)",
        "in_thread_B[0] = in_thread_B[0] + A[i, k]",
        "T.tvm_thread_allreduce(",
        'T.block("B_write_back")',
        "T.where(i1_1 == 0)",
        "B[i] = cross_thread_B[0]",
    ]
    offsets = [text.find(words) for words in order]
    assert -1 not in offsets and offsets == sorted(offsets), (offsets, text)


def test_a_reduction_that_is_no_plain_combination_is_rejected():
    sch = rows_by_threads(te.sum, 32)
    function = sch.mod["main"]
    changed = tir.stmt_functor.ir_transform(
        function.body,
        None,
        lambda s: tir.BufferStore(s.buffer, s.value * 2.0, s.indices) if "A" in str(s) else None,
        ["tir.BufferStore"],
    )
    with pytest.raises(ValueError, match="block B reduces over a loop bound to a thread, but not by"):
        tir.transform.LowerCrossThreadReduction()(tessera.IRModule({"main": function.with_body(changed)}))


def test_a_sum_that_begins_with_something_is_not_begun_by_every_thread():
    function = rows_by_threads(te.sum, 32).mod["main"]
    zero = tir.const(0, "float32")
    begun = tir.stmt_functor.ir_transform(
        function.body,
        None,
        lambda s: (
            tir.BufferStore(s.buffer, tir.const(5, "float32"), s.indices)
            if tessera.ir.structural_equal(s.value, zero)
            else None
        ),
        ["tir.BufferStore"],
    )
    with pytest.raises(ValueError, match="begins with .*5.*, which every thread would count; begin with 0"):
        tir.transform.LowerCrossThreadReduction()(tessera.IRModule({"main": function.with_body(begun)}))


def pipelined_product(size, tile, stages, orders, asynchronous=False):
    """A matmul whose tiles come through shared memory, fetched while the ones before are multiplied."""
    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (bi, ti), (bj, tj), (ko, ki) = (sch.split(loop, [None, tile]) for loop in (i, j, k))
    sch.reorder(bi, bj, ti, tj, ko, ki)
    for loop, axis in ((bi, "blockIdx.y"), (bj, "blockIdx.x"), (ti, "threadIdx.y"), (tj, "threadIdx.x")):
        sch.bind(loop, axis)
    for index in (0, 1):
        copy = sch.cache_read(block, index, "shared")
        sch.compute_at(copy, ko)
        row, column = sch.get_loops(copy)[-2:]
        sch.bind(row, "threadIdx.y")
        sch.bind(column, "threadIdx.x")
    sch.decompose_reduction(block, ko)
    sch.annotate(ko, "software_pipeline_stage", stages)
    sch.annotate(ko, "software_pipeline_order", orders)
    if asynchronous:
        sch.annotate(ko, "software_pipeline_async_stages", [0])
    return sch


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("stages, orders", [([0, 0, 1], [0, 1, 2]), ([0, 0, 3], [0, 1, 2]), ([0, 0, 1], [1, 2, 0])])
def test_tiles_are_fetched_while_others_are_multiplied(kind, stages, orders):
    x, y = (np.random.default_rng(seed).standard_normal((64, 64)).astype("float32") for seed in (0, 1))
    got = run(pipelined_product(64, 8, stages, orders), kind, [x, y], (64, 64))
    np.testing.assert_allclose(got, x @ y, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not tessera.cuda(0).exist, reason="no CUDA device")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_copies_run_on_their_own(depth):
    x, y = (np.random.default_rng(seed).standard_normal((256, 256)).astype("float32") for seed in (0, 1))
    with tessera.transform.PassContext(config={"tir.use_async_copy": True}):
        sch = pipelined_product(256, 16, [0, 0, depth], [0, 1, 2], asynchronous=True)
        assert "cp.async" in tessera.build(sch.mod, target="cuda").imported_modules[0].get_source()
        got = run(sch, "cuda", [x, y], (256, 256))
    np.testing.assert_allclose(got, x @ y, rtol=1e-3, atol=1e-3)
