"""Indices from data that are outside: no target reads there, and every target reports them."""

import re
import resource

import numpy as np
import pytest
import tessera
from tessera.contrib import utils
from tessera.script import tir as T

ROWS, COLUMNS = 5, 8


@T.prim_func
def rows(A: T.Buffer[(5, 8), "float32"], I: T.Buffer[(40,), "int64"], B: T.Buffer[(40, 8), "float32"]):
    T.func_attr({"global_symbol": "rows", "tir.noalias": True})
    for i in T.parallel(40):
        for j in T.vectorized(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[T.checked_index(I[vi], T.int64(5), "Gather node, axis 0", dtype="int64"), vj]


@T.prim_func
def elements(A: T.Buffer[(5,), "float32"], I: T.Buffer[(40,), "int32"], B: T.Buffer[(40,), "float32"]):
    T.func_attr({"global_symbol": "elements", "tir.noalias": True})
    for i in T.serial(5):
        for k in T.vectorized(8):
            with T.block("B"):
                vi = T.axis.spatial(40, i * 8 + k)
                B[vi] = A[T.checked_index(I[vi], 5, "Gather node, axis 0", dtype="int32")]


@T.prim_func
def on_a_device(A: T.Buffer[(5,), "float32"], I: T.Buffer[(40,), "int64"], B: T.Buffer[(40,), "float32"]):
    T.func_attr({"global_symbol": "on_a_device", "tir.noalias": True})
    for i in T.thread_binding(5, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(40, i * 8 + k)
                B[vi] = A[T.checked_index(I[vi], T.int64(5), "Gather node, axis 0", dtype="int64")]


def build(function, target):
    return tessera.build(tessera.IRModule({function.attrs["global_symbol"]: function}), target=target)


def make_indices(dtype, bad=None, at=17):
    out = np.random.default_rng(3).integers(-5, 5, 40).astype(dtype)
    if bad is not None:
        out[at] = bad
    return out


def call(mod, function, indices, dev=None):
    dev = dev or tessera.cpu()
    shape = [int(n) for n in function.buffer_map[function.params[0]].shape]
    data = np.arange(np.prod(shape), dtype="float32").reshape(shape) + 1
    out = tessera.nd.empty((40, *shape[1:]), "float32", dev)
    mod[function.attrs["global_symbol"]](tessera.nd.array(data, dev), tessera.nd.array(indices, dev), out)
    return data, out


def message(index):
    return re.escape(
        f"Gather node, axis 0: index {index} is outside; the axis has 5 elements, so that an index is -5 to 4"
    )


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64", "c"])
@pytest.mark.parametrize("function", [rows, elements], ids=["rows", "elements"])
def test_a_bad_index_is_an_error_that_names_it_and_where(target, function):
    mod = build(function, target)
    if target == "c":
        folder = utils.tempdir()
        path = folder.relpath("rows.so")
        mod.export_library(path)
        mod = tessera.runtime.load_module(path)
    dtype = str(function.buffer_map[function.params[1]].dtype)
    indices = make_indices(dtype)
    data, out = call(mod, function, indices)
    np.testing.assert_array_equal(out.numpy(), data[indices])
    limits = np.iinfo(dtype)
    for bad in (5, -6, 1000, limits.max, limits.min):
        for at in (0, 17, 39):
            with pytest.raises(IndexError, match=message(bad)):
                call(mod, function, make_indices(dtype, bad, at))
    np.testing.assert_array_equal(call(mod, function, indices)[1].numpy(), data[indices])  # nothing is left behind


def test_one_comparison_and_one_branch_check_a_vector():
    text = build(elements, "llvm -mcpu=x86-64-v4").get_source("asm")
    body = text[text.index("elements_compute_") :] if "elements_compute_" in text else text
    assert len(re.findall(r"\bk(?:or)?test", body)) <= 2, body


def test_of_many_bad_indices_one_is_reported():
    mod = build(rows, "llvm")
    with pytest.raises(IndexError, match="Gather node, axis 0: index 7[0-9] is outside"):
        call(mod, rows, np.arange(70, 110, dtype="int64")[:40] % 10 + 70)


needs_opencl = pytest.mark.skipif(not tessera.opencl(0).exist, reason="no OpenCL device")


@needs_opencl
def test_a_device_reports_when_it_is_next_waited_for():
    mod, dev = build(on_a_device, "opencl"), tessera.opencl(0)
    data, out = call(mod, on_a_device, make_indices("int64"), dev)
    np.testing.assert_array_equal(out.numpy(), data[make_indices("int64")])
    for bad in (5, -6, 2**63 - 1, -(2**63)):
        _, out = call(mod, on_a_device, make_indices("int64", bad), dev)  # the launch itself does not wait
        with pytest.raises(IndexError, match=message(bad)):
            out.numpy()
        good = make_indices("int64", bad)
        good[17] = 0  # what a bad index reads
        np.testing.assert_array_equal(out.numpy(), data[good])
    dev.sync()  # it is reported once


@needs_opencl
def test_a_saved_module_reports_too():
    folder = utils.tempdir()
    path = folder.relpath("device.so")
    build(on_a_device, "opencl").export_library(path)
    mod, dev = tessera.runtime.load_module(path), tessera.opencl(0)
    _, out = call(mod, on_a_device, make_indices("int64", 9), dev)
    with pytest.raises(IndexError, match=message(9)):
        out.numpy()


def test_cuda_kernels_take_the_records_of_indices_last():
    target = tessera.target.Target("cuda -arch=sm_80", host="llvm")
    source = build(on_a_device, target).imported_modules[0].get_source()
    head = source[source.index("on_a_device_kernel0(") :]
    assert re.search(r"long long\* __restrict__ index_errors\)", head[: head.index("{")])
    assert "tsr_checked_index(" in source and "index_errors + 0" in source


@pytest.mark.parametrize("target", ["nvptx -mcpu=sm_80", "rocm -mcpu=gfx90a"])
def test_kernels_through_llvm_take_them_too(target):
    text = build(on_a_device, tessera.target.Target(target, host="llvm")).imported_modules[0].get_source()
    assert re.search(r"define .*on_a_device_kernel0\(.*%index_errors\)", text)


@pytest.mark.gpu
@pytest.mark.skipif(not tessera.cuda(0).exist, reason="no CUDA device")
@pytest.mark.parametrize("target", ["cuda", "nvptx"])
def test_a_gpu_reports_when_it_is_next_waited_for(target):
    dev = tessera.cuda(0)
    mod = build(on_a_device, tessera.target.Target(target, host="llvm"))
    data, out = call(mod, on_a_device, make_indices("int64"), dev)
    np.testing.assert_array_equal(out.numpy(), data[make_indices("int64")])
    for bad in (5, -6, 2**63 - 1, -(2**63)):
        _, out = call(mod, on_a_device, make_indices("int64", bad), dev)
        with pytest.raises(IndexError, match=message(bad)):
            out.numpy()
    np.testing.assert_array_equal(
        call(mod, on_a_device, make_indices("int64"), dev)[1].numpy(), data[make_indices("int64")]
    )


@T.prim_func
def with_memory(A: T.Buffer[(5,), "float32"], I: T.Buffer[(40,), "int64"], B: T.Buffer[(40,), "float32"]):
    T.func_attr({"global_symbol": "with_memory", "tir.noalias": True})
    C = T.alloc_buffer((1 << 20,), "float32")
    for k in T.serial(1 << 20):
        with T.block("C"):
            vk = T.axis.spatial(1 << 20, k)
            C[vk] = A[0]
    for i in T.parallel(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = C[vi] + A[T.checked_index(I[vi], T.int64(5), "Gather node, axis 0", dtype="int64")]


def test_a_function_that_fails_gives_its_memory_back():
    mod = build(with_memory, "llvm")

    def fail(times):
        for _ in range(times):
            with pytest.raises(IndexError, match=message(9)):
                call(mod, with_memory, make_indices("int64", 9))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = fail(3)
    assert fail(40) - before < 40 << 10  # kilobytes; a call takes four megabytes
