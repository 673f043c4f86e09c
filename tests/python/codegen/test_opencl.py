"""OpenCL kernels: their source, and what they compute on PoCL (or any other driver that is there)."""

import math
import threading

import numpy as np
import pytest
import tessera
from tessera import te, tir
from tessera.contrib import utils

needs_device = pytest.mark.skipif(
    not tessera.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one that runs on the CPU"
)


def block(name="x"):
    return te.thread_axis(f"blockIdx.{name}")


def thread(extent=None, name="x"):
    return te.thread_axis((0, extent) if extent else None, f"threadIdx.{name}")


def bind_all(s, tensor, threads=32):
    """One element a thread."""
    fused = s[tensor].fuse(*tensor.op.axis)
    outer, inner = s[tensor].split(fused, factor=threads)
    s[tensor].bind(outer, block())
    s[tensor].bind(inner, thread())


def reduce_across(s, tensor, threads, name="x"):
    """The reduction of `tensor` by `threads` threads; returns the stage of their partial results."""
    _, inner = s[tensor].split(s[tensor].op.reduce_axis[0], factor=threads)
    partial = s.rfactor(tensor, inner)
    s[tensor].bind(s[tensor].op.reduce_axis[0], thread(threads, name))
    first = partial[0] if isinstance(partial, (list, tuple)) or hasattr(partial, "__len__") else partial
    s[first].compute_at(s[tensor], s[tensor].op.reduce_axis[0])
    return first


def applied(function, tensor):
    return lambda i: function(tensor[i])


def source_of(mod):
    return mod.imported_modules[0].get_source()


def run(s, args, *data, name="main"):
    """Builds, runs on the device; the last argument is the output."""
    mod = tessera.build(s, args, "opencl", name=name)
    dev = tessera.opencl(0)
    arrays = [tessera.nd.array(d, dev) for d in data]
    out = tessera.nd.array(np.zeros([int(n) for n in args[-1].shape], str(args[-1].dtype)), dev)
    mod[name](*arrays, out)
    return out.numpy()


def samples(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def test_the_source_of_a_kernel_names_its_memory_and_threads():
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    text = source_of(tessera.build(s, [a, b], "opencl", name="scale"))
    assert "__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void scale_kernel0(" in text
    assert "__global const float* restrict A" in text and "__global float* restrict B" in text
    assert "get_group_id(0)" in text and "get_local_id(0)" in text


def test_the_host_is_llvm_and_may_be_c():
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    assert tessera.build(s, [a, b], "opencl").type_key == "llvm"
    mod = tessera.build(s, [a, b], tessera.target.Target("opencl", host="c"))
    assert mod.type_key == "c" and mod.imported_modules[0].type_key == "opencl"


def test_code_outside_of_threads_is_refused():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(tessera.TVMError, match="[Dd]id you forget to bind|bind"):
        tessera.build(te.create_schedule(b.op), [a, b], "opencl")


@needs_device
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
)
def test_arithmetic_of_each_type(dtype):
    a, b = te.placeholder((100,), dtype, name="A"), te.placeholder((100,), dtype, name="B")
    c = te.compute((100,), lambda i: te.max(a[i] * b[i], a[i] - b[i]) + a[i], name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples(dtype, 100), samples(dtype, 100, 1)
    with np.errstate(over="ignore"):
        wanted = np.maximum(x * y, x - y) + x
    got = run(s, [a, b, c], x, y)
    if "int" in dtype:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@needs_device
def test_half_is_rounded_after_each_operation():
    a, b = te.placeholder((4096,), "float16", name="A"), te.placeholder((4096,), "float16", name="B")
    c = te.compute((4096,), lambda i: (a[i] + b[i]) * a[i] - b[i], name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples("float16", 4096), samples("float16", 4096, 1)
    np.testing.assert_array_equal(run(s, [a, b, c], x, y), (x + y) * x - y)


@needs_device
def test_bools_are_bytes():
    a, b = te.placeholder((64,), "bool", name="A"), te.placeholder((64,), "float32", name="B")
    c = te.compute((64,), lambda i: tir.all(a[i], b[i] > 0.0), name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples("bool", 64), samples("float32", 64)
    np.testing.assert_array_equal(run(s, [a, b, c], x, y), x & (y > 0))


REAL_FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf),
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": lambda x: np.floor(x + 0.5),
    "trunc": np.trunc,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@needs_device
@pytest.mark.parametrize("name", REAL_FUNCTIONS)
def test_real_functions(name):
    for dtype, tolerance in (("float32", 2e-6), ("float16", 2e-3)):
        args = [te.placeholder((64,), dtype, name="A")]
        args += [te.compute((64,), applied(getattr(te, name), args[0]), name="B")]
        s = te.create_schedule(args[1].op)
        bind_all(s, args[1])
        x = np.abs(samples(dtype, 64)) + np.dtype(dtype).type(0.25)
        wanted = REAL_FUNCTIONS[name](x.astype("float64"))
        np.testing.assert_allclose(run(s, args, x), wanted, rtol=tolerance, atol=tolerance)


@needs_device
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
def test_vector_loops_load_and_store_vectors(lanes, dtype):
    n = lanes * 24
    a, b = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    c = te.compute((n,), lambda i: tir.Select(a[i] < b[i], a[i] + b[i], a[i]), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=lanes)
    bx, tx = s[c].split(outer, factor=8)
    s[c].bind(bx, block())
    s[c].bind(tx, thread())
    s[c].vectorize(inner)
    text = source_of(tessera.build(s, [a, b, c], "opencl"))
    assert f"{lanes}(" in text and "vload" in text and "vstore" in text
    x, y = samples(dtype, n), samples(dtype, n, 1)
    np.testing.assert_array_equal(run(s, [a, b, c], x, y), np.where(x < y, x + y, x))


@needs_device
def test_strided_vectors_go_lane_by_lane():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((8, 16), lambda i, j: a[j, i], name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[1], factor=4)
    s[b].bind(b.op.axis[0], block())
    s[b].bind(outer, thread())
    s[b].vectorize(inner)
    x = samples("float32", (16, 8))
    np.testing.assert_array_equal(run(s, [a, b], x), x.T)


@needs_device
@pytest.mark.parametrize("threads", [1, 2, 7, 16, 32, 33, 64])
def test_a_sum_across_threads(threads):
    n, m = 5, 150
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    reduce_across(s, b, threads)
    s[b].bind(s[b].op.axis[0], block())
    x = samples("float32", (n, m))
    np.testing.assert_allclose(run(s, [a, b], x), x.sum(1), rtol=1e-4, atol=1e-4)


@needs_device
def test_several_rows_a_block_reduce_in_groups_of_their_own():
    n, m, rows = 12, 64, 4
    a = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    reduce_across(s, b, 16)
    io, ii = s[b].split(s[b].op.axis[0], factor=rows)
    s[b].bind(io, block())
    s[b].bind(ii, thread(rows, "y"))
    x = samples("int32", (n, m))
    np.testing.assert_array_equal(run(s, [a, b], x), x.max(1))


@needs_device
def test_an_argmax_across_threads():
    n, m = 6, 96
    first = lambda a, b: (tir.Select(a[1] >= b[1], a[0], b[0]), tir.Select(a[1] >= b[1], a[1], b[1]))
    zero = lambda t0, t1: (tir.const(-1, t0), te.min_value(t1))
    argmax = te.comm_reducer(first, zero, name="argmax")
    index = te.placeholder((n, m), "int32", name="I")
    value = te.placeholder((n, m), "float32", name="V")
    k = te.reduce_axis((0, m), "k")
    t0, t1 = te.compute((n,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    s = te.create_schedule(t0.op)
    reduce_across(s, t0, 32)
    s[t0].bind(s[t0].op.axis[0], block())
    mod = tessera.build(s, [index, value, t0, t1], "opencl", name="f")
    dev = tessera.opencl(0)
    v = samples("float32", (n, m))
    arrays = [np.tile(np.arange(m, dtype="int32"), (n, 1)), v, np.zeros(n, "int32"), np.zeros(n, "float32")]
    arrays = [tessera.nd.array(x, dev) for x in arrays]
    mod["f"](*arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), v.argmax(1))
    np.testing.assert_array_equal(arrays[3].numpy(), v.max(1))


def tiled_matmul(n, tile, dtype="float32", double_buffer=False):
    a, b = te.placeholder((n, n), dtype, name="A"), te.placeholder((n, n), dtype, name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    aa, bb = s.cache_read(a, "shared", [c]), s.cache_read(b, "shared", [c])
    cl = s.cache_write(c, "local")
    i, j = c.op.axis
    bi, ti = s[c].split(i, factor=tile)
    bj, tj = s[c].split(j, factor=tile)
    s[c].reorder(bi, bj, ti, tj)
    s[c].bind(bi, block("y"))
    s[c].bind(bj, block("x"))
    s[c].bind(ti, thread(tile, "y"))
    s[c].bind(tj, thread(tile, "x"))
    s[cl].compute_at(s[c], tj)
    ko, ki = s[cl].split(s[cl].op.reduce_axis[0], factor=tile)
    for shared in (aa, bb):
        s[shared].compute_at(s[cl], ko)
        y, x = s[shared].op.axis
        s[shared].bind(y, thread(tile, "y"))
        s[shared].bind(x, thread(tile, "x"))
        if double_buffer:
            s[shared].double_buffer()
    return s, [a, b, c]


@needs_device
@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_a_matmul_tiled_through_shared_memory(dtype, double_buffer):
    s, args = tiled_matmul(48, 8, dtype, double_buffer)
    text = source_of(tessera.build(s, args, "opencl"))
    assert "__local" in text and text.count("barrier(CLK_LOCAL_MEM_FENCE)") >= (1 if double_buffer else 2)
    x, y = samples(dtype, (48, 48)), samples(dtype, (48, 48), 1)
    wanted = x.astype("float64") @ y.astype("float64")
    tolerance = {"float32": 1e-4, "int32": 0, "float16": 0.3}[dtype]
    np.testing.assert_allclose(run(s, args, x, y), wanted, rtol=0, atol=tolerance)


@needs_device
def test_softmax_in_one_kernel():
    n, m, threads = 9, 100, 32
    a = te.placeholder((n, m), name="A")
    k1, k2 = te.reduce_axis((0, m), "k1"), te.reduce_axis((0, m), "k2")
    largest = te.compute((n,), lambda i: te.max(a[i, k1], axis=k1), name="largest")
    e = te.compute((n, m), lambda i, j: te.exp(a[i, j] - largest[i]), name="e")
    total = te.compute((n,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    out = te.compute((n, m), lambda i, j: e[i, j] / total[i], name="out")
    s = te.create_schedule(out.op)
    s[e].compute_inline()
    row, col = out.op.axis
    _, inner = s[out].split(col, factor=threads)
    s[out].bind(row, block())
    s[out].bind(inner, thread(threads))
    for stage in (largest, total):
        s[stage].compute_at(s[out], row)
        s[stage].set_scope("shared")
        reduce_across(s, stage, threads)
    x = samples("float32", (n, m))
    y = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(s, [a, out], x), y / y.sum(1, keepdims=True), rtol=1e-5)


@needs_device
def test_large_indices_are_64_bit():
    n = te.var("n", "int64")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + (i % 7).astype("float32"), name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    assert "long" in source_of(tessera.build(s, [a, b], "opencl"))
    mod = tessera.build(s, [a, b], "opencl", name="f")
    x = samples("float32", 1000)
    out = tessera.nd.array(np.zeros(1000, "float32"), tessera.opencl(0))
    mod["f"](tessera.nd.array(x, tessera.opencl(0)), out)
    np.testing.assert_allclose(out.numpy(), x + np.arange(1000) % 7, rtol=1e-6)


@needs_device
def test_kernels_travel_inside_a_library_and_in_files():
    a = te.placeholder((100,), name="A")
    b = te.compute((100,), lambda i: a[i] * 3.0, name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    mod = tessera.build(s, [a, b], "opencl", name="f")
    folder = utils.tempdir()
    mod.export_library(folder.relpath("packed.so"))
    device = mod.imported_modules[0]
    device.save(folder.relpath("kernels.cl"))
    loaded = tessera.runtime.load_module(folder.relpath("kernels.cl"))
    assert loaded.type_key == "opencl" and loaded.get_source() == device.get_source()
    dev = tessera.opencl(0)
    x = samples("float32", 100)
    library = tessera.runtime.load_module(folder.relpath("packed.so"))
    assert [m.type_key for m in library.imported_modules] == ["opencl"]
    out = tessera.nd.array(np.zeros(100, "float32"), dev)
    library["f"](tessera.nd.array(x, dev), out)
    np.testing.assert_allclose(out.numpy(), x * 3)


@needs_device
def test_copies_views_and_streams():
    dev = tessera.opencl(0)
    x = samples("float32", (4, 6))
    on_device = tessera.nd.array(x, dev)
    np.testing.assert_array_equal(on_device.copyto(dev).numpy(), x)
    np.testing.assert_array_equal(on_device.copyto(tessera.cpu()).numpy(), x)
    assert str(on_device.device) == "opencl(0)" and tessera.nd.empty((0,), device=dev).shape == (0,)
    stream = dev.create_raw_stream()
    dev.set_raw_stream(stream)
    np.testing.assert_array_equal(tessera.nd.array(x, dev).numpy(), x)
    dev.sync()
    dev.set_raw_stream(None)
    dev.free_raw_stream(stream)


@needs_device
def test_a_tensor_elsewhere_is_refused_by_name():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b, 8)
    mod = tessera.build(s, [a, b], "opencl", name="f")
    with pytest.raises(tessera.TVMError, match="device_type"):
        mod["f"](tessera.nd.array(np.zeros(8, "float32")), tessera.nd.array(np.zeros(8, "float32")))


@needs_device
def test_many_threads_may_call_one_kernel():
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    mod = tessera.build(s, [a, b], "opencl", name="f")
    dev = tessera.opencl(0)
    wrong = []

    def work(seed):
        x = samples("float32", 64, seed)
        array, out = tessera.nd.array(x, dev), tessera.nd.array(np.zeros(64, "float32"), dev)
        for _ in range(20):
            mod["f"](array, out)
            if not np.array_equal(out.numpy(), x * 2):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@needs_device
def test_time_evaluator_waits_for_the_device():
    s, args = tiled_matmul(32, 8)
    mod = tessera.build(s, args, "opencl", name="f")
    arrays = [tessera.nd.array(np.ones((32, 32), "float32"), tessera.opencl(0)) for _ in range(3)]
    assert mod.time_evaluator("f", tessera.opencl(0), number=2, repeat=2)(*arrays).mean > 0


def test_a_device_that_is_not_there_is_an_error_with_words():
    assert not tessera.opencl(99).exist
    with pytest.raises(tessera.TVMError, match=r"opencl\(99\) does not exist|no OpenCL"):
        tessera.nd.array(np.zeros(4, "float32"), tessera.opencl(99))
