"""Kernels for GPUs through LLVM: PTX for NVIDIA's, assembly for AMD's. No GPU is needed to make them."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import tessera
from tessera import te, tir

PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def kernels_of(module):
    (kernels,) = module.imported_modules
    return kernels


def elementwise(function, dtype="float32", n=1024, vector=1):
    a = te.placeholder((n,), dtype, name="A")
    c = te.compute((n,), lambda i: function(a[i]), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 64 * vector)
    if vector > 1:
        inner, lanes = s[c].split(inner, vector)
        s[c].vectorize(lanes)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [a, c]


def shared_matmul(n=64):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    tile = s.cache_read(a, "shared", [c])
    bx, tx = s[c].split(c.op.axis[0], 16)
    by, ty = s[c].split(c.op.axis[1], 16)
    s[c].reorder(bx, by, tx, ty)
    thread_x, thread_y = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    for axis, thread in (
        (bx, te.thread_axis("blockIdx.x")),
        (by, te.thread_axis("blockIdx.y")),
        (tx, thread_x),
        (ty, thread_y),
    ):
        s[c].bind(axis, thread)
    ko, _ = s[c].split(k, 16)
    s[tile].compute_at(s[c], ko)
    s[tile].bind(tile.op.axis[0], thread_x)
    s[tile].bind(tile.op.axis[1], thread_y)
    return s, [a, b, c]


def thread_reduction(n=128, m=64):
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    c = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(k, te.thread_axis("threadIdx.x"))
    return s, [a, c]


PROGRAMS = {
    "add": lambda: elementwise(lambda x: x + 1.0),
    "vectors": lambda: elementwise(lambda x: x * 2.0, vector=4),
    "half": lambda: elementwise(lambda x: x * x, "float16"),
    "bytes": lambda: elementwise(lambda x: x.astype("int32").astype("int8"), "int8"),
    "double": lambda: elementwise(lambda x: tir.exp(x), "float64"),
    "functions": lambda: elementwise(lambda x: te.tanh(x) + te.exp(x) + te.log(x) + te.erf(x) + te.sigmoid(x)),
    "sine": lambda: elementwise(te.sin),
    "powers": lambda: elementwise(lambda x: te.power(x, 1.5) + tir.fmod(x, tir.const(3, "float32"))),
    "division": lambda: elementwise(lambda x: tir.floordiv(x, tir.const(7, "int32")) + tir.floormod(x, x), "int32"),
    "shared": shared_matmul,
    "reduction": thread_reduction,
}


@pytest.mark.skipif(PTXAS is None, reason="ptxas, of the CUDA toolkit, is not installed")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ptxas_takes(name, arch, tmp_path):
    path = tmp_path / "kernels.ptx"
    kernels_of(tessera.build(*PROGRAMS[name](), target=f"nvptx -mcpu={arch}")).save(str(path))
    done = subprocess.run(
        [PTXAS, f"-arch={arch}", str(path), "-o", "/dev/null"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + path.read_text()


def test_kernels_of_nvidia_gpus_are_ptx():
    kernels = kernels_of(tessera.build(*PROGRAMS["vectors"](), target="nvptx -mcpu=sm_80", name="twice"))
    assert kernels.type_key == "cuda" and kernels.format == "ptx"
    text = kernels.get_source("ptx")
    assert ".target sm_80" in text and ".visible .entry twice_kernel0(" in text and ".maxntid 64, 1, 1" in text
    assert "%tid.x" in text and "%ctaid.x" in text
    assert "ld.global.nc.v4" in text or "ld.global.v4" in text  # pointers of a kernel lead to global memory
    assert "@llvm.nvvm.read.ptx.sreg.tid.x" in kernels.get_source() == kernels.get_source("ll")
    with pytest.raises(ValueError, match="it may be ll or ptx"):
        kernels.get_source("cu")


def test_kernels_of_amd_gpus_are_assembly(tmp_path):
    kernels = kernels_of(tessera.build(*PROGRAMS["vectors"](), target="rocm -mcpu=gfx90a", name="twice"))
    assert kernels.type_key == "hip" and kernels.format == "hsaco"
    text = kernels.get_source("asm")
    assert (
        ".amdhsa_kernel twice_kernel0" in text
        and "global_load_dwordx4" in text
        and ".max_flat_workgroup_size: 64" in text
    )
    kernels.save(str(tmp_path / "twice.o"))
    assert (tmp_path / "twice.o").read_bytes()[:4] == b"\x7fELF"
    kernels.save(str(tmp_path / "twice.hsaco"))  # linked, as AMD's loader takes it: ET_DYN
    code = (tmp_path / "twice.hsaco").read_bytes()
    assert code[:4] == b"\x7fELF" and code[16] == 3 and b"twice_kernel0" in code


@pytest.mark.parametrize("name", PROGRAMS)
def test_amd_has_every_program(name):
    assert ".amdhsa_kernel" in kernels_of(tessera.build(*PROGRAMS[name](), target="rocm")).get_source("asm")


def test_threads_share_memory_and_wait_for_each_other():
    program = shared_matmul()
    ptx = kernels_of(tessera.build(*program, target="nvptx")).get_source("ptx")
    assert ".shared .align 64 .b8" in ptx and "bar.sync" in ptx and "ld.shared" in ptx
    amd = kernels_of(tessera.build(*program, target="rocm")).get_source("asm")
    assert "s_barrier" in amd and "ds_read" in amd and ".group_segment_fixed_size: 1024" in amd


def test_a_warp_reduces_by_shuffles():
    assert "ds_bpermute_b32" in kernels_of(tessera.build(*thread_reduction(), target="rocm")).get_source("asm")
    text = kernels_of(tessera.build(*thread_reduction(m=32), target="nvptx")).get_source("ptx")
    assert text.count("shfl.sync.down.b32") == 5 and "activemask.b32" in text and "bar.sync" not in text


def test_what_a_gpu_does_not_have_is_rejected():
    with pytest.raises(NotImplementedError, match="nextafter of float32 on nvptx .*: there is no instruction for it"):
        tessera.build(*elementwise(lambda x: tir.nextafter(x, x)), target="nvptx")
    with pytest.raises(NotImplementedError, match="sin of float64 on rocm .*; compute it in float32"):
        tessera.build(*elementwise(te.sin, "float64"), target="rocm")
    with pytest.raises(ValueError, match='mcpu "sm_5" is not a CPU of nvptx64'):
        tessera.build(*PROGRAMS["add"](), target="nvptx -mcpu=sm_5")


def test_kernels_say_that_they_cannot_run_here():
    kernels = kernels_of(tessera.build(*PROGRAMS["add"](), target="rocm", name="add"))
    with pytest.raises(
        tessera.TVMError, match="kernel add_kernel0 cannot run: this build has no runtime for hip devices"
    ):
        kernels["add_kernel0"]


# ---- on an NVIDIA GPU ----


def run_on_gpu(program, *arrays):
    """The last array after a call."""
    device = tessera.cuda(0)
    if not device.exist:
        pytest.skip("no CUDA device")
    tensors = [tessera.nd.array(array, device) for array in arrays]
    tessera.build(*program, target="nvptx -mcpu=sm_80")(*tensors)
    return tensors[-1].numpy()


@pytest.mark.gpu
def test_ptx_runs_on_a_gpu():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3, 1024).astype("float32")
    answers = {"add": x + 1, "vectors": x * 2, "sine": np.sin(x), "powers": x**1.5 + np.fmod(x, 3)}
    for name, expected in answers.items():
        out = run_on_gpu(PROGRAMS[name](), x, np.zeros_like(x))
        np.testing.assert_allclose(out, expected, rtol=2e-6, err_msg=name)
    a, b = rng.uniform(0, 1, (2, 64, 64)).astype("float32")
    np.testing.assert_allclose(run_on_gpu(shared_matmul(), a, b, np.zeros_like(a)), a @ b, rtol=1e-5)
    for width in (32, 64):  # by shuffles, and by shared memory
        rows = rng.uniform(0, 1, (128, width)).astype("float32")
        sums = run_on_gpu(thread_reduction(m=width), rows, np.zeros(128, "float32"))
        np.testing.assert_allclose(sums, rows.sum(1), rtol=1e-5)
