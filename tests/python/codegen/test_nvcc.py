"""tessera.contrib.nvcc: the CUDA compiler as v0.10's scripts call it."""

import shutil

import pytest
import tessera
from tessera.contrib import nvcc

needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
KERNEL = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }'


def test_versions_tell_what_a_device_can_do():
    assert nvcc.parse_compute_version("9.0") == (9, 0)
    assert nvcc.have_fp16("5.3") and not nvcc.have_fp16("5.2") and nvcc.have_fp16("7.5")
    assert nvcc.have_int8("6.1") and not nvcc.have_int8("6.0")
    assert nvcc.have_bf16("8.0") and not nvcc.have_bf16("7.5")
    assert nvcc.have_tensorcore("7.0") and not nvcc.have_tensorcore("6.1")
    with pytest.raises(RuntimeError, match="parsing error"):
        nvcc.parse_compute_version("nine")


def test_a_target_says_its_version():
    target = tessera.target.Target("cuda -arch=sm_86")
    assert nvcc.get_target_compute_version(target) == "8.6"
    with target:
        assert nvcc.have_tensorcore()


@needs_nvcc
def test_nvcc_makes_ptx_and_binaries():
    assert ".visible .entry f" in nvcc.compile_cuda(KERNEL, arch="sm_80").decode()
    assert nvcc.compile_cuda(KERNEL, "cubin", "sm_80")[:4] == b"\x7fELF"
    assert nvcc.get_cuda_version() > 10
    with pytest.raises(RuntimeError, match="Compilation error"):
        nvcc.compile_cuda("nonsense", arch="sm_80")


def test_an_unknown_form_is_rejected():
    with pytest.raises(ValueError, match="cubin, ptx, fatbin"):
        nvcc.compile_cuda(KERNEL, "exe")


@needs_nvcc
def test_the_compiler_in_the_process_makes_the_same_kernels():
    assert ".visible .entry f" in nvcc.compile_in_process(KERNEL, "sm_80").decode()
