"""CUDA kernels: their source, that the CUDA compiler takes it, and, where a GPU is, what they compute.

`pytest -m gpu tests/python/codegen/test_cuda.py` runs the last on a machine with a GPU.
"""

import os
import re
import shutil

import gpu_programs as programs
import numpy as np
import pytest
import tessera
from tessera import te, tir
from tessera.contrib import utils

HAS_COMPILER = os.path.exists("/usr/local/cuda/include") or shutil.which("nvcc") or os.environ.get("CUDA_HOME")
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="no CUDA toolkit (nvcc or NVRTC)")
gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not tessera.cuda(0).exist, reason="no CUDA device"),
]
ARCHS = ["sm_75", "sm_80", "sm_90"]
compile_cuda = tessera.get_global_func("runtime.cuda_compile")


def build(s, args, name="main", arch="sm_80"):
    return tessera.build(s, args, tessera.target.Target(f"cuda -arch={arch}", host="llvm"), name=name)


def source_of(mod):
    return mod.imported_modules[0].get_source()


def compiled(source, arch="sm_80"):
    return bytes(compile_cuda(source, arch, "ptx")).decode()


def test_the_source_of_a_kernel_names_its_threads_and_bounds():
    s, args, *_ = programs.PROGRAMS["elementwise_float32"]()
    text = source_of(build(s, args, "f"))
    assert 'extern "C" __global__ void __launch_bounds__(32) f_kernel0(' in text
    assert "const float* __restrict__ A" in text and "float* __restrict__ C" in text
    assert "blockIdx.x" in text and "threadIdx.x" in text


def test_vectors_are_moved_at_once():
    assert "*(const float4*)(A + " in source_of(build(*programs.vector("float32", 4)[:2]))
    assert "half2" in source_of(build(*programs.vector("float16", 2)[:2]))
    assert "tsr_vec<half, 8>" in source_of(build(*programs.vector("float16", 8)[:2]))
    assert "char4" in source_of(build(*programs.vector("int8", 4)[:2]))
    eight = source_of(build(*programs.vector("float32", 8)[:2]))
    assert eight.count("*(float4*)(C + ") == 2  # no access is wider than 16 bytes


def test_a_vector_that_may_not_be_aligned_goes_lane_by_lane():
    n = te.var("n")
    a = te.placeholder((n, n), name="A")
    b = te.compute((n, n), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[1], factor=4)
    s[b].bind(b.op.axis[0], programs.block())
    s[b].bind(outer, programs.thread())
    s[b].vectorize(inner)
    assert "float4" not in source_of(build(s, [a, b]))


def test_a_warp_shuffles_and_a_block_goes_through_shared_memory():
    s, args, *_ = programs.row_sums(32)
    text = source_of(build(s, args))
    assert text.count("__shfl_down_sync(") == 5 and "__shared__" not in text
    s, args, *_ = programs.row_sums(64)
    text = source_of(build(s, args))
    assert "__shared__" in text and "__syncthreads()" in text


def test_a_barrier_stands_outside_of_the_inner_loop():
    s, args = programs.tiled_matmul(48, 8)
    lines = [line.strip() for line in source_of(build(s, args)).split("\n")]
    barriers = [i for i, line in enumerate(lines) if line == "__syncthreads();"]
    assert len(barriers) == 2
    assert lines[barriers[0] - 1].startswith("for (int k_outer") and lines[barriers[1] + 1].startswith(
        "for (int k_inner"
    )


@needs_compiler
@pytest.mark.parametrize("arch", ARCHS)
def test_the_compiler_takes_all_programs(arch):
    """One module of all kernels, so that the compiler starts once."""
    mod = tessera.IRModule({})
    for name, make in programs.PROGRAMS.items():
        s, args, *_ = make()
        mod.update(tessera.lower(s, args, name=name))
    built = tessera.build(mod, target=tessera.target.Target(f"cuda -arch={arch}", host="llvm"))
    ptx = built.imported_modules[0].get_source("ptx")
    assert f".target {arch}" in ptx
    assert ptx.count(".entry") == len(programs.PROGRAMS)


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_compiler_takes_warps_and_tensor_cores(arch):
    for name, make in programs.CUDA_PROGRAMS.items():
        s, args, *_ = make()
        text = source_of(tessera.build(s, args, f"cuda -arch={arch}", name="f"))
        for word in WORDS[name]:
            assert word in text, (name, text)
        assert ".entry f_kernel0" in compiled(text, arch)


WORDS = {
    "scheduled_wmma": ["half A_shared[256]", "nvcuda::wmma::row_major> A_shared_wmma_matrix_a[1];"],
    "scheduled_wmma_transposed": ["nvcuda::wmma::col_major> B_shared_wmma_matrix_b[1];"],
    "scheduled_wmma_int8": ["16, 16, 16, signed char, nvcuda::wmma::row_major>"],
    "warp_rotation": ["__shfl_sync(__activemask(), A_warp[0]", "__syncwarp();"],
    "wmma_product": ["wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> fa[1]", "wmma::mma_sync(fc[0]"],
    "mma_product": ["cp.async.cg.shared.global", "ldmatrix.sync.aligned.m8n8.x4", "mma.sync.aligned.m16n8k16"],
    "mma_product_in_warp_memory": ["half a[8];", "float c[8];", "mma.sync.aligned.m16n8k16"],
    "matmul_dynamic_shared": ["extern __shared__", "(half*)buf_dyn_shmem"],
    "matmul_dynamic_shared_double": ["extern __shared__", "__syncthreads();"],
}


def test_a_launch_gives_each_thread_axis_once():
    s, args = programs.tiled_matmul(48, 8)  # its stages have thread axes of their own
    mod = tessera.build(s, args, tessera.target.Target("cuda -arch=sm_80", host="c"), name="f")
    assert re.findall(r"v_int64 = \(\(int64_t\)([68])\)", mod.get_source()) == ["6", "6", "8", "8"]


def test_one_kernel_has_one_number_of_threads():
    a, b = tir.decl_buffer((64,), name="A"), tir.decl_buffer((64,), name="B")
    body = []
    for extent in (32, 64):
        tx = te.thread_axis((0, extent), "threadIdx.x")
        copy = tir.BufferStore(b, tir.BufferLoad(a, [tx.var]), [tx.var])
        body.append(tir.AttrStmt(tx, "thread_extent", extent, copy))
    bx = te.thread_axis((0, 1), "blockIdx.x")
    handles = [tir.Var(n, "handle") for n in "ab"]
    func = tir.PrimFunc(
        handles, tir.AttrStmt(bx, "thread_extent", 1, tir.SeqStmt(body)), buffer_map=dict(zip(handles, [a, b]))
    ).with_attr("global_symbol", "f")
    with pytest.raises(ValueError, match="threadIdx.x with 32 and with 64"):
        tessera.build(func, target="cuda -arch=sm_80", name="f")


def test_a_launch_says_how_much_dynamic_shared_memory_it_needs():
    s, args, *_ = programs.CUDA_PROGRAMS["matmul_dynamic_shared"]()
    mod = tessera.build(s, args, tessera.target.Target("cuda -arch=sm_80", host="c"), name="f")
    assert re.search(
        r"\[7\]\.v_int64 = \(\(int64_t\)256", mod.get_source()
    )  # three tensors, four extents, then the bytes


@needs_compiler
def test_dp4a_takes_packed_bytes():
    A, B = tir.decl_buffer((256,), "int8", name="A"), tir.decl_buffer((256,), "int8", name="B")
    C = tir.decl_buffer((64,), "int32", name="C")
    tx = te.thread_axis((0, 64), "threadIdx.x")
    four = tir.Ramp(tx.var * 4, 1, 4)
    dot = tir.call_pure_extern(
        "int32", "__dp4a", tir.BufferLoad(A, [four]), tir.BufferLoad(B, [four]), tir.const(0, "int32")
    )
    body = tir.AttrStmt(tx, "thread_extent", 64, tir.BufferStore(C, dot, [tx.var]))
    handles = [tir.Var(n, "handle") for n in "abc"]
    func = tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, [A, B, C]))).with_attr("global_symbol", "f")
    mod = tessera.build(func, target="cuda -arch=sm_80", name="f")
    text = source_of(mod)
    assert "__dp4a(v, v_1, 0)" in text and "char4 v = " in text
    assert "dp4a" in compiled(text)


@needs_compiler
def test_atomic_adds():
    A, B = tir.decl_buffer((64,), "float32", name="A"), tir.decl_buffer((1,), "float32", name="B")
    tx = te.thread_axis((0, 64), "threadIdx.x")
    add = tir.call_intrin(
        "float32", "tir.atomic_add", tir.address_of(tir.BufferLoad(B, [0])), tir.BufferLoad(A, [tx.var])
    )
    body = tir.AttrStmt(tx, "thread_extent", 64, tir.Evaluate(add))
    handles = [tir.Var(n, "handle") for n in "ab"]
    func = tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, [A, B]))).with_attr("global_symbol", "f")
    text = source_of(tessera.build(func, target="cuda -arch=sm_80", name="f"))
    assert "atomicAdd(" in text and "const float* __restrict__ B" not in text
    assert "red.global.add.f32" in compiled(text) or "atom.global.add.f32" in compiled(text)


def test_a_kernel_without_a_compiler_is_source_and_says_so():
    s, args, *_ = programs.PROGRAMS["elementwise_float32"]()
    mod = build(s, args, "f").imported_modules[0]
    assert mod.type_key == "cuda" and "__global__" in mod.get_source()
    with pytest.raises(ValueError, match="may be cu or ptx"):
        mod.get_source("exe")


@needs_compiler
def test_kernels_are_saved_as_source_ptx_and_binary():
    s, args, *_ = programs.PROGRAMS["elementwise_float32"]()
    mod = build(s, args, "f").imported_modules[0]
    folder = utils.tempdir()
    for form in ("cu", "ptx", "cubin"):
        mod.save(folder.relpath(f"kernels.{form}"))
        loaded = tessera.runtime.load_module(folder.relpath(f"kernels.{form}"))
        assert loaded.type_key == "cuda" and loaded.implements_function("f_kernel0")
    assert ".target sm_80" in tessera.runtime.load_module(folder.relpath("kernels.ptx")).get_source()


@needs_compiler
def test_kernels_travel_inside_a_library():
    s, args, *_ = programs.PROGRAMS["elementwise_float32"]()
    folder = utils.tempdir()
    build(s, args, "f").export_library(folder.relpath("packed.so"))
    library = tessera.runtime.load_module(folder.relpath("packed.so"))
    assert [m.type_key for m in library.imported_modules] == ["cuda"]
    assert ".entry f_kernel0" in library.imported_modules[0].get_source()


@needs_compiler
def test_an_error_of_the_compiler_shows_its_words_and_the_source():
    with pytest.raises(tessera.TVMError, match=r"(?s)rejects the kernels.*nonsense.*in the source"):
        compile_cuda("__global__ void f() { nonsense; }", "sm_80", "ptx")


def test_a_user_may_change_the_source_and_bring_a_compiler():
    seen = []
    tessera.register_func(
        "tvm_callback_cuda_postproc", lambda code: seen.append("post") or code + "// changed\n", override=True
    )
    tessera.register_func(
        "tvm_callback_cuda_compile", lambda code: bytearray(b".version 8.0 // made up"), override=True
    )
    try:
        s, args, *_ = programs.PROGRAMS["elementwise_float32"]()
        mod = build(s, args, "f").imported_modules[0]
        assert mod.get_source().endswith("// changed\n") and mod.get_source("ptx") == ".version 8.0 // made up"
    finally:
        for name in ("tvm_callback_cuda_postproc", "tvm_callback_cuda_compile"):
            tessera._ffi.registry.remove_global_func(name)
    assert seen == ["post"]


@pytest.mark.skipif(tessera.cuda(0).exist, reason="there is a CUDA device")
def test_a_machine_without_a_device_says_so():
    assert not tessera.cuda(0).exist
    with pytest.raises(tessera.TVMError, match="no CUDA device on this machine"):
        tessera.nd.array(np.zeros(4, "float32"), tessera.cuda(0))


class TestOnTheDevice:
    pytestmark = gpu

    @pytest.mark.parametrize("name", [*programs.PROGRAMS, *programs.CUDA_PROGRAMS])
    def test_a_program_computes_its_answer(self, name):
        s, args, inputs, wanted, tolerance = {**programs.PROGRAMS, **programs.CUDA_PROGRAMS}[name]()
        mod = tessera.build(s, args, "cuda", name="f")
        dev = tessera.cuda(0)
        dtype = str(args[-1].dtype) if args else str(wanted.dtype)
        out = tessera.nd.array(np.zeros(np.shape(wanted), dtype), dev)
        mod["f"](*[tessera.nd.array(x, dev) for x in inputs], out)
        np.testing.assert_allclose(out.numpy(), wanted, rtol=tolerance, atol=tolerance)

    def test_a_library_runs_again_in_another_process_or_this_one(self):
        s, args, inputs, wanted, _ = programs.PROGRAMS["softmax"]()
        folder = utils.tempdir()
        tessera.build(s, args, "cuda", name="f").export_library(folder.relpath("lib.so"))
        library = tessera.runtime.load_module(folder.relpath("lib.so"))
        dev = tessera.cuda(0)
        out = tessera.nd.array(np.zeros(wanted.shape, "float32"), dev)
        library["f"](*[tessera.nd.array(x, dev) for x in inputs], out)
        np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5)

    def test_copies_streams_facts_and_time(self):
        dev = tessera.cuda(0)
        x = np.arange(24, dtype="float32").reshape(4, 6)
        array = tessera.nd.array(x, dev)
        np.testing.assert_array_equal(array.copyto(dev).numpy(), x)
        np.testing.assert_array_equal(array.copyto(tessera.cpu()).numpy(), x)
        stream = dev.create_raw_stream()
        dev.set_raw_stream(stream)
        np.testing.assert_array_equal(tessera.nd.array(x, dev).numpy(), x)
        dev.set_raw_stream(None)
        dev.free_raw_stream(stream)
        assert dev.warp_size == 32 and dev.max_threads_per_block >= 1024 and dev.device_name
        assert float(dev.compute_version) >= 7.5 and dev.multi_processor_count > 0
        s, args = programs.tiled_matmul(256, 16)
        mod = tessera.build(s, args, "cuda", name="f")
        arrays = [tessera.nd.array(np.ones((256, 256), "float32"), dev) for _ in range(3)]
        assert 0 < mod.time_evaluator("f", dev, number=10)(*arrays).mean < 0.1
