"""Compiled kernels are kept on disk; see src/codegen/kernel_cache.h."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tessera
from tessera import te

info = tessera.get_global_func("codegen.cache_info")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(scale, name="scaled"):
    x = te.placeholder((64,), name="x")
    y = te.compute((64,), lambda i: x[i] * scale)
    return tessera.build(te.create_schedule(y.op), [x, y], "llvm", name=name)


def answer(lib):
    x = tessera.nd.array(np.arange(64, dtype="float32"))
    y = tessera.nd.empty((64,))
    lib(x, y)
    return y.numpy()


def test_the_second_build_of_the_same_is_a_look_up(cache):
    first, again, other = build(2.0), build(2.0), build(3.0)
    assert (int(info()["hits"]), int(info()["misses"]), int(info()["entries"])) == (1, 2, 2)
    np.testing.assert_array_equal(answer(first), answer(again))
    np.testing.assert_array_equal(answer(other), 3 * np.arange(64, dtype="float32"))
    assert "define" in again.get_source("ll")  # made again for those who want to read it
    assert first.get_source("asm") == again.get_source("asm")


def test_target_and_name_are_part_of_the_key(cache):
    build(2.0), build(2.0, name="other")
    x = te.placeholder((64,), name="x")
    y = te.compute((64,), lambda i: x[i] * 2.0)
    tessera.build(te.create_schedule(y.op), [x, y], "llvm -opt-level=0", name="scaled")
    assert int(info()["hits"]) == 0


def test_a_kept_kernel_is_exported_like_a_new_one(cache, tmp_path):
    build(2.0)
    kept = build(2.0)
    kept.export_library(str(tmp_path / "lib.so"))
    np.testing.assert_array_equal(
        answer(tessera.runtime.load_module(str(tmp_path / "lib.so"))["scaled"]), 2 * np.arange(64, dtype="float32")
    )


def test_a_damaged_entry_is_compiled_again(cache):
    build(2.0)
    (entry,) = cache.iterdir()
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 0xFF
    entry.write_bytes(data)
    np.testing.assert_array_equal(answer(build(2.0)), 2 * np.arange(64, dtype="float32"))


def test_without_a_cache_nothing_is_written(cache, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", "0")
    build(2.0)
    assert not cache.exists()
    assert "TESSERA_CACHE=0" in info()["off_because"]


def test_processes_that_are_killed_leave_a_cache_that_works(cache):
    program = (
        "import tessera\nfrom tessera import te\n"
        "for n in range(1, 10000):\n"
        "    x = te.placeholder((n,))\n"
        "    y = te.compute((n,), lambda i: x[i] * 2.0)\n"
        "    tessera.build(te.create_schedule(y.op), [x, y], 'llvm')\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = int(info()["entries"])
    assert before > 0
    tail = "print('hits', int(tessera.get_global_func('codegen.cache_info')()['hits']))"
    done = subprocess.run(
        [sys.executable, "-c", program.replace("10000", "4") + tail], capture_output=True, text=True, check=True
    )
    assert "hits 3" in done.stdout


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no CUDA compiler is installed")
def test_what_the_cuda_compiler_made_is_a_look_up_too(cache):
    compile_cuda = tessera.get_global_func("runtime.cuda_compile")
    kernel = 'extern "C" __global__ void f(float* x) { x[0] = 1; }'
    first = bytes(compile_cuda(kernel, "sm_80", "cubin"))
    assert (int(info()["hits"]), int(info()["misses"])) == (0, 1)
    assert bytes(compile_cuda(kernel, "sm_80", "cubin")) == first and int(info()["hits"]) == 1
    (
        compile_cuda(kernel, "sm_90", "cubin"),
        compile_cuda(kernel, "sm_80", "ptx"),
        compile_cuda(kernel + " ", "sm_80", "cubin"),
    )
    assert (int(info()["hits"]), int(info()["misses"])) == (1, 4)
    with pytest.raises(tessera.TVMError, match="the CUDA compiler rejects the kernels"):
        compile_cuda("no kernel", "sm_80", "cubin")
    assert int(info()["entries"]) == 4
