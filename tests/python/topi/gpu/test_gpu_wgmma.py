"""sm_90a: contractions by wgmma, whose tiles the copy engine brings: matmuls in any layout, batches, convolutions as windows."""

import shutil
import subprocess

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import build, plan, random, rules, run, source, var
from tessera import relay

WGMMA = "gemm_wgmma"
HOPPER = "cuda -arch=sm_90a"
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
compile_cuda = tvm.get_global_func("runtime.cuda_compile")


def is_hopper():
    return tvm.cuda(0).exist and tvm.cuda(0).compute_version == "9.0"


def on_hopper(test):
    reason = "no device of compute capability 9.0"
    return pytest.mark.gpu(pytest.mark.skipif(not is_hopper(), reason=reason)(test))


def matmul(m, n, k, dtype="float16", transpose_a=False, transpose_b=True, batch=0, out_dtype=""):
    first = (batch,) if batch else ()
    a = var("a", *first, *((k, m) if transpose_a else (m, k)), dtype=dtype)
    b = var("b", *first, *((n, k) if transpose_b else (k, n)), dtype=dtype)
    op = relay.nn.batch_matmul if batch else relay.nn.matmul
    return op(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype)


def conv2d(images, channels, size, out, kernel, stride=1, padding=1, dilation=1, dtype="float16"):
    return relay.nn.conv2d(
        var("x", images, size, size, channels, dtype=dtype),
        var("w", kernel, kernel, channels, out, dtype=dtype),
        strides=stride,
        padding=padding,
        dilation=dilation,
        channels=out,
        kernel_size=kernel,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )


# ---- what is emitted -------------------------------------------------------------------------------------------------


def test_large_matmuls_go_through_wgmma_and_the_copy_engine():
    for dtype, name in (("float16", "f16"), ("bfloat16", "bf16")):
        lib = build(matmul(4096, 4096, 4096, dtype), HOPPER)
        assert rules(lib) == [WGMMA] and plan(lib, WGMMA)["tile_n"] == 256
        text = source(lib)
        assert f"wgmma.mma_async.sync.aligned.m64n256k16.f32.{name}.{name}" in text
        assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile" in text and "__launch_bounds__(384, 1)" in text
        assert text.count("const __grid_constant__ tsr_tensor_map") == 2


def test_blocks_of_a_cluster_share_what_they_copy():
    text = source(build(matmul(4096, 4096, 4096), HOPPER, gemm_wgmma={"cluster": 2}))
    assert "__cluster_dims__(2, 1, 1)" in text and ".multicast::cluster" in text and "tsr_cluster_barrier();" in text


def test_float32_is_multiplied_as_tf32_where_that_is_allowed():
    body = matmul(4096, 4096, 4096, "float32")
    assert rules(build(body, HOPPER)) == ["gemm"]
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tvm.transform.PassContext(opt_level=3, config={"cuda.allow_tf32": True}):
        lib = relay.build(tvm.IRModule.from_expr(function), tvm.target.Target(HOPPER, host="llvm"))
    assert rules(lib) == [WGMMA] and "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32" in source(lib)


def test_only_sm_90a_has_wgmma():
    for target in ("cuda -arch=sm_90", "cuda -arch=sm_80", "cuda -arch=sm_100"):
        assert rules(build(matmul(4096, 4096, 4096), target)) == ["gemm"]


def test_factors_that_lie_along_their_rows_are_transposed_by_wgmma():
    text = source(build(matmul(4096, 4096, 4096, transpose_a=True, transpose_b=False), HOPPER))
    assert "tsr_wgmma_m64n256k16_f32_f16_f16_11" in text and ", p, 1, 1, 1, 1;" in text


def test_int8_goes_through_wgmma_where_both_factors_lie_along_k():
    text = source(build(matmul(4096, 4096, 4096, "int8", out_dtype="int32"), HOPPER))
    assert "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8" in text
    assert rules(build(matmul(4096, 4096, 4096, "int8", transpose_b=False, out_dtype="int32"), HOPPER)) == ["gemm"]


def test_what_the_copy_engine_cannot_take_is_left_to_mma_sync():
    assert rules(build(matmul(4096, 4096, 4100), HOPPER)) == ["gemm"]  # rows are no multiples of 16 bytes
    assert rules(build(conv2d(32, 60, 28, 256, 3), HOPPER))[-1] == "gemm"  # channels are no whole lines


def test_windows_of_convolutions_are_copied_by_the_copy_engine():
    lib = build(conv2d(32, 256, 28, 256, 3), HOPPER)
    assert rules(lib) == [WGMMA] and "cp.async.bulk.tensor.4d.shared::cluster.global.im2col" in source(lib)


def test_an_epilogue_is_stored_by_16_bytes():
    for dtype, word in (("float16", "half"), ("bfloat16", "unsigned short")):
        body = relay.nn.bias_add(matmul(4096, 4096, 4096, dtype), var("bias", 4096, dtype=dtype))
        lib = build(relay.nn.relu(body + var("rest", 4096, 4096, dtype=dtype)), HOPPER)
        assert rules(lib) == [WGMMA] and source(lib).count(f"*(tsr_vec<{word}, 8>*)(") == 1
        assert source(lib).count(f"*(const tsr_vec<{word}, 8>*)(") == 2


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a"])
@needs_nvcc
def test_kernels_compile_for_every_architecture(arch):
    for body in (matmul(4096, 4096, 4096, "bfloat16"), conv2d(32, 256, 28, 256, 3)):
        text = source(build(body, f"cuda -arch={arch}"))
        assert bytes(compile_cuda(text, arch, "cubin"))[:4] == b"\x7fELF"


@needs_nvcc
def test_sums_stay_in_registers(tmp_path):
    for body in (matmul(4096, 4096, 4096, "bfloat16"), matmul(4096, 4096, 4096, transpose_b=False)):
        path = tmp_path / "kernel.cu"
        path.write_text(source(build(body, HOPPER)))
        command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-Xptxas", "-v"]
        command += ["-o", str(tmp_path / "kernel.cubin"), str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert "0 bytes spill stores" in said and "wgmma" not in said.replace(WGMMA, "")


def test_a_plan_that_does_not_fit_is_reported(capfd):
    lib = build(matmul(4096, 4096, 4096), HOPPER, gemm_wgmma={"tile_m": 96})
    assert rules(lib) == ["gemm"] and "the plan of a contraction by wgmma does not fit" in capfd.readouterr().err


def test_a_library_remembers_its_tensor_maps(tmp_path):
    module = build(matmul(4096, 4096, 4096), HOPPER).get_lib().imported_modules[0]
    path = tmp_path / "kernels.cu"
    module.save(str(path))
    meta = (tmp_path / "kernels.tvm_meta.json").read_text()
    assert "tessera.tensor_map: 0 float16 0 extents 4096 4096 strides 8192 box 64 128" in meta
    assert tvm.runtime.load_module(str(path)).get_source() == module.get_source()


# ---- what it answers -------------------------------------------------------------------------------------------------


def check_matmul(m, n, k, dtype="float16", batch=0, out_dtype="", knobs=None, **transposed):
    lib = build(matmul(m, n, k, dtype, batch=batch, out_dtype=out_dtype, **transposed), "cuda", gemm_wgmma=knobs or {})
    assert rules(lib) == [WGMMA]
    first = (batch,) if batch else ()
    ta, tb = transposed.get("transpose_a", False), transposed.get("transpose_b", True)
    a = random(*first, *((k, m) if ta else (m, k)), dtype=dtype, seed=1)
    b = random(*first, *((n, k) if tb else (k, n)), dtype=dtype, seed=2)
    x, y = (v.astype("int64" if dtype == "int8" else "float64") for v in (a, b))
    wanted = (x.swapaxes(-1, -2) if ta else x) @ (y.swapaxes(-1, -2) if tb else y)
    tolerance = 0 if dtype == "int8" else 2e-2
    np.testing.assert_allclose(run(lib, "cuda", a=a, b=b), wanted, rtol=tolerance, atol=tolerance * np.sqrt(k))


@on_hopper
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (1000, 1048, 1064)])
def test_fp16_in_any_layout(shape, cluster, transpose_a, transpose_b):
    check_matmul(*shape, knobs={"cluster": cluster}, transpose_a=transpose_a, transpose_b=transpose_b)


@on_hopper
@pytest.mark.parametrize(
    "knobs",
    [
        {"tile_m": 256, "tile_n": 128, "stages": 4, "cluster": 1},
        {"tile_m": 64, "tile_n": 128, "groups": 1, "stages": 2, "cluster": 1},
        {"tile_m": 128, "tile_n": 96, "stages": 3, "cluster": 2},
        {"tile_m": 192, "tile_n": 128, "groups": 3, "stages": 4, "cluster": 1},
        {"group": 1},
    ],
)
def test_the_knobs_of_wgmma_may_be_moved(knobs):
    check_matmul(1000, 1031, 1000, knobs=knobs)


@on_hopper
def test_batches_and_int8():
    check_matmul(500, 600, 512, batch=9)
    check_matmul(1000, 1050, 1040, "int8", out_dtype="int32")


@on_hopper
@pytest.mark.parametrize(
    "images, channels, size, out, kernel, stride, padding, dilation",
    [
        (32, 64, 56, 64, 3, 1, 1, 1),
        (32, 128, 57, 256, 3, 2, 1, 1),
        (16, 128, 56, 192, 5, 1, 3, 2),
        (16, 64, 56, 128, 7, 2, 3, 1),
        (32, 256, 56, 512, 1, 2, 0, 1),
    ],
)
def test_convolutions(images, channels, size, out, kernel, stride, padding, dilation):
    x = random(images, size, size, channels, dtype="float16")
    w = random(kernel, kernel, channels, out, dtype="float16", seed=1)
    lib = build(conv2d(images, channels, size, out, kernel, stride, padding, dilation), "cuda")
    assert rules(lib) == [WGMMA]
    picked = [0, images - 1]
    padded = np.pad(x[picked].astype("float32"), [(0, 0), (padding, padding), (padding, padding), (0, 0)])
    extent = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    reach = stride * (extent - 1) + 1
    wanted = 0
    for i in range(kernel):
        for j in range(kernel):
            part = padded[:, i * dilation :, j * dilation :][:, :reach:stride, :reach:stride]
            wanted = wanted + part @ w[i, j].astype("float32")
    found = run(lib, "cuda", x=x, w=w)[picked]
    np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-3 * kernel * np.sqrt(channels))
