"""OpenCL kernels: their source, and what they compute on PoCL (or any other driver that is there)."""

import threading

import gpu_programs as programs
import numpy as np
import pytest
import tessera
from gpu_programs import bind_all, block, reduce_across, samples, thread, tiled_matmul
from tessera import te, tir
from tessera.contrib import utils

needs_device = pytest.mark.skipif(
    not tessera.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one that runs on the CPU"
)


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


def test_code_outside_of_threads_is_rejected():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(tessera.TVMError, match="[Dd]id you forget to bind|bind"):
        tessera.build(te.create_schedule(b.op), [a, b], "opencl")


@needs_device
def test_half_is_rounded_after_each_operation():
    a, b = te.placeholder((4096,), "float16", name="A"), te.placeholder((4096,), "float16", name="B")
    c = te.compute((4096,), lambda i: (a[i] + b[i]) * a[i] - b[i], name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples("float16", 4096), samples("float16", 4096, 1)
    np.testing.assert_array_equal(run(s, [a, b, c], x, y), (x + y) * x - y)


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


@needs_device
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_computes_its_answer(name):
    s, args, inputs, wanted, tolerance = programs.PROGRAMS[name]()
    np.testing.assert_allclose(run(s, args, *inputs), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("double_buffer", [False, True])
def test_a_tiled_matmul_keeps_its_tiles_in_local_memory(double_buffer):
    s, args = tiled_matmul(48, 8, "float16", double_buffer)
    text = source_of(tessera.build(s, args, "opencl"))
    assert "__local" in text and text.count("barrier(CLK_LOCAL_MEM_FENCE)") == 2


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
def test_a_tensor_elsewhere_is_rejected_by_name():
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


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ("", "JSON"),
        ("[]", 'no "func_info"'),
        ('{"func_info": 3}', "no table of kernels"),
        ('{"func_info": {"f": {"name": "f"}}}', 'no "arg_types"'),
        ('{"func_info": {"f": {"name": 1, "arg_types": [], "launch_param_tags": []}}}', "a name is expected"),
        ('{"func_info": {"f": {"name": "f", "arg_types": ["floot"], "launch_param_tags": []}}}', "floot"),
    ],
)
def test_a_damaged_table_of_kernels_is_an_error_that_says_so(meta, words):
    folder = utils.tempdir()
    with open(folder.relpath("kernels.cl"), "w") as file:
        file.write("__kernel void f() {}")
    with open(folder.relpath("kernels.tvm_meta.json"), "w") as file:
        file.write(meta)
    with pytest.raises((ValueError, tessera.TVMError), match=words):
        tessera.runtime.load_module(folder.relpath("kernels.cl"))


def test_a_file_of_kernels_without_its_table_is_an_error():
    folder = utils.tempdir()
    with open(folder.relpath("kernels.cl"), "w") as file:
        file.write("__kernel void f() {}")
    with pytest.raises(OSError, match="kernels.tvm_meta.json"):
        tessera.runtime.load_module(folder.relpath("kernels.cl"))


@needs_device
def test_source_that_the_driver_rejects_is_shown_with_its_words():
    folder = utils.tempdir()
    with open(folder.relpath("kernels.cl"), "w") as file:
        file.write("__kernel void f() { nonsense; }")
    with open(folder.relpath("kernels.tvm_meta.json"), "w") as file:
        file.write('{"func_info": {"f": {"name": "f", "arg_types": [], "launch_param_tags": ["threadIdx.x"]}}}')
    mod = tessera.runtime.load_module(folder.relpath("kernels.cl"))
    with pytest.raises(tessera.TVMError, match=r"(?s)cannot compile the kernels.*in the source"):
        mod["f"](1)
    with pytest.raises(TypeError, match="takes 0 arguments and 1 launch sizes, not 2 values"):
        mod["f"](1, 2)
