"""GPUs: matmuls and convolutions are tiles in shared memory and registers, by threads or by matrix units."""

import re
import shutil

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import DEVICES, build, plan, random, rules, run, source, var
from tessera import relay

GEMM = "gemm"
H200 = "cuda -arch=sm_90"
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 3e-2, "int8": 0}


def matmul(m, n, k, dtype="float32", transpose_a=False, transpose_b=False, out_dtype=""):
    a = var("a", *((k, m) if transpose_a else (m, k)), dtype=dtype)
    b = var("b", *((n, k) if transpose_b else (k, n)), dtype=dtype)
    return relay.nn.matmul(a, b, out_dtype=out_dtype, transpose_a=transpose_a, transpose_b=transpose_b)


def check_matmul(m, n, k, device, dtype="float32", out_dtype="", **transposed):
    lib = build(matmul(m, n, k, dtype, out_dtype=out_dtype, **transposed), device)
    assert rules(lib) == [GEMM]
    a = random(*((k, m) if transposed.get("transpose_a") else (m, k)), dtype=dtype, seed=1)
    b = random(*((n, k) if transposed.get("transpose_b") else (k, n)), dtype=dtype, seed=2)
    wide = np.int64 if dtype == "int8" else np.float64
    x, y = (
        v.astype(wide).T if t else v.astype(wide)
        for v, t in zip((a, b), (transposed.get("transpose_a"), transposed.get("transpose_b")))
    )
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(run(lib, device, a=a, b=b), x @ y, rtol=tolerance, atol=tolerance * np.sqrt(k))


SHAPES = [(64, 64, 64), (33, 70, 129), (8, 9, 2), (200, 128, 40), (257, 300, 77)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_matmuls(shape, device):
    check_matmul(*shape, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_transposed_factors(transpose_a, transpose_b, device):
    for shape in ((64, 96, 80), (37, 45, 51)):
        check_matmul(*shape, device, transpose_a=transpose_a, transpose_b=transpose_b)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("shape", [(128, 256, 64), (72, 40, 136), (129, 65, 33), (300, 514, 130)])
def test_fp16(shape, transpose_a, transpose_b, device):
    check_matmul(*shape, device, "float16", transpose_a=transpose_a, transpose_b=transpose_b)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(128, 256, 64), (72, 40, 136), (129, 65, 33)])
def test_int8(shape, device):
    check_matmul(*shape, device, "int8", "int32", transpose_b=True)


@pytest.mark.parametrize("device", DEVICES)
def test_batches_and_what_they_share(device):
    x, y = random(6, 50, 33), random(6, 70, 33)
    lib = build(relay.nn.batch_matmul(var("x", *x.shape), var("y", *y.shape)), device)
    assert rules(lib) == [GEMM]
    np.testing.assert_allclose(run(lib, device, x=x, y=y), x @ y.transpose(0, 2, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_epilogue_is_part_of_the_kernel(dtype, device):
    a, b, bias, rest = (random(*s, dtype=dtype) for s in ((90, 64), (100, 64), (100,), (90, 100)))
    body = relay.nn.dense(var("a", 90, 64, dtype=dtype), var("b", 100, 64, dtype=dtype))
    body = relay.nn.relu(relay.nn.bias_add(body, var("bias", 100, dtype=dtype)) + var("rest", 90, 100, dtype=dtype))
    lib = build(body, device)
    assert rules(lib) == [GEMM]
    wide = [v.astype("float64") for v in (a, b, bias, rest)]
    wanted = np.maximum(wide[0] @ wide[1].T + wide[2] + wide[3], 0)
    np.testing.assert_allclose(
        run(lib, device, a=a, b=b, bias=bias, rest=rest), wanted, rtol=2e-2, atol=TOLERANCE[dtype] * 8
    )


def np_conv(x, w, stride, pad, dilation=1):
    """NCHW, OIHW."""
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    kh, kw = w.shape[2:]
    height = (x.shape[2] - dilation * (kh - 1) - 1) // stride + 1
    width = (x.shape[3] - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], height, width))
    for i in range(kh):
        for j in range(kw):
            part = x[:, :, i * dilation :, j * dilation :][
                :, :, : stride * (height - 1) + 1 : stride, : stride * (width - 1) + 1 : stride
            ]
            out += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype("float64"))
    return out


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "channels, out, size, kernel, stride, pad",
    [(16, 24, 9, 3, 1, 1), (8, 33, 14, 1, 1, 0), (5, 16, 11, 3, 2, 1), (3, 16, 18, 7, 2, 3)],
)
def test_convolutions(channels, out, size, kernel, stride, pad, dtype, layout, device):
    x, w = random(2, channels, size, size, dtype=dtype), random(out, channels, kernel, kernel, dtype=dtype)
    wanted = np.maximum(np_conv(x, w, stride, pad), 0)
    kernel_layout = "OIHW"
    if layout == "NHWC":
        x, w, wanted, kernel_layout = (
            x.transpose(0, 2, 3, 1),
            w.transpose(2, 3, 1, 0),
            wanted.transpose(0, 2, 3, 1),
            "HWIO",
        )
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    body = relay.nn.conv2d(
        var("x", *x.shape, dtype=dtype),
        var("w", *w.shape, dtype=dtype),
        strides=stride,
        padding=pad,
        channels=out,
        kernel_size=kernel,
        data_layout=layout,
        kernel_layout=kernel_layout,
    )
    lib = build(relay.nn.relu(body), device)
    assert GEMM in rules(lib)
    np.testing.assert_allclose(run(lib, device, x=x, w=w), wanted, rtol=2e-2, atol=TOLERANCE[dtype] * 10)


@pytest.mark.parametrize("device", DEVICES)
def test_a_matmul_of_dynamic_extents_has_guarded_tiles(device):
    rows, depth = relay.Any(), relay.Any()
    a, b = relay.var("a", relay.TensorType((rows, depth))), relay.var("b", relay.TensorType((70, depth)))
    mod = tvm.IRModule.from_expr(relay.Function([a, b], relay.nn.relu(relay.nn.dense(a, b, units=70))))
    vm = relay.create_executor("vm", mod, tvm.device(device, 0), device).evaluate()
    for m, k in ((1, 3), (65, 40), (130, 129)):
        x, y = random(m, k), random(70, k)
        np.testing.assert_allclose(vm(x, y).numpy(), np.maximum(x @ y.T, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "knobs",
    [
        {"tile_m": 32, "tile_n": 16, "part_m": 4, "part_n": 2},
        {"tile_k": 4, "a_lanes": 1, "b_lanes": 1},
        {"group": 1},
        {"tile_m": 64, "tile_n": 64, "part_m": 8, "part_n": 8},
    ],
)
def test_the_knobs_of_a_gemm_may_be_moved(knobs, device):
    a, b = random(100, 60), random(60, 90)
    lib = build(matmul(100, 90, 60), device, gemm=knobs)
    assert {name: plan(lib, GEMM)[name] for name in knobs} == knobs
    np.testing.assert_allclose(run(lib, device, a=a, b=b), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(33, 48, 512), (16, 40, 100)])
def test_parts_of_k_are_added_up_by_a_second_kernel(shape, device):
    m, n, k = shape
    a, b, bias = random(m, k), random(n, k), random(n)
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(var("a", m, k), var("b", n, k)), var("bias", n)))
    parts = {
        "tile_m": 32,
        "tile_n": 32,
        "tile_k": 4,
        "part_m": 2,
        "part_n": 2,
        "turns": 0,
        "blocks": 1,
        "parts": 4 if k > 100 else 5,
    }
    lib = build(body, device, **{GEMM: parts})
    assert plan(lib, GEMM)["parts"] == parts["parts"] and source(lib).count("_kernel1(") == 1
    out = run(lib, device, a=a, b=b, bias=bias)
    np.testing.assert_allclose(out, np.maximum(a @ b.T + bias, 0), rtol=1e-4, atol=1e-4)


def test_few_tiles_are_divided_along_k():
    few = plan(build(matmul(128, 768, 3072, transpose_b=True), "cuda -arch=sm_90"), GEMM)
    many = plan(build(matmul(4096, 4096, 1024, transpose_b=True), "cuda -arch=sm_90"), GEMM)
    assert few["parts"] > 4 and many["parts"] == 1
    assert (many["part_m"], many["part_n"], many["turns"]) == (8, 16, 1)


def test_the_last_tile_begins_earlier_where_tiles_do_not_divide_rows():
    text = source(build(matmul(1000, 512, 512, transpose_b=True), "cuda -arch=sm_90"))
    assert " ? 4 : 0)" not in text and "< 1000" not in text  # no copy and no store asks for the edge


def test_a_plan_that_does_not_fit_is_reported_and_left(capfd):
    lib = build(matmul(64, 64, 64), "opencl", gemm={"part_m": 7})
    assert GEMM not in rules(lib) and "the plan of a contraction does not fit" in capfd.readouterr().err


# ---- what is emitted for CUDA ----------------------------------------------------------------------------------------


def resources(text, arch):
    """Bytes of spills and registers, as ptxas reports them."""
    import pathlib
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.cu"
        path.write_text(text)
        out = subprocess.run(
            ["nvcc", f"-arch={arch}", "-cubin", "-Xptxas", "-v", "-o", str(path.with_suffix(".cubin")), str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
    return sum(map(int, re.findall(r"(\d+) bytes stack frame", out))), int(re.search(r"Used (\d+) registers", out)[1])


def test_matrix_units_multiply_fp16_and_bf16():
    for dtype, name in (("float16", "f16"), ("bfloat16", "bf16")):
        lib = build(matmul(4096, 4096, 4096, dtype, transpose_b=True), H200)
        knobs, text = plan(lib, GEMM), source(lib)
        assert knobs["by_matrix_units"] and knobs["copies_async"] and knobs["a_lanes"] == knobs["b_lanes"] == 8
        assert f"mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32" in text
        assert "ldmatrix.sync.aligned.m8n8.x4.shared" in text and "cp.async.cg.shared.global" in text
        assert f"cp.async.wait_group {knobs['stages'] - 2};" in text


def test_results_of_matrix_units_are_stored_by_16_bytes():
    lib = build(matmul(1024, 1024, 1024, "float16", transpose_b=True), H200)
    assert plan(lib, GEMM)["stores_wide"] and "*(tsr_vec<half, 8>*)(T_matmul" in source(lib)
    assert source(lib).count("__syncwarp();") == 2
    odd = build(matmul(1024, 1023, 1024, "float16", transpose_b=True), H200)
    assert not plan(odd, GEMM)["stores_wide"] and "__syncwarp" not in source(odd)


def test_matrix_units_multiply_int8():
    text = source(build(matmul(1024, 1024, 1024, "int8", transpose_b=True, out_dtype="int32"), H200))
    assert "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32" in text


def test_factors_that_lie_the_other_way_are_transposed_by_ldmatrix():
    text = source(build(matmul(512, 512, 512, "float16"), H200))
    assert text.count("ldmatrix.sync.aligned.m8n8.x4.trans") > 0
    assert len(re.findall(r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared", text)) > 0


def test_older_devices_multiply_by_threads():
    lib = build(matmul(1024, 1024, 1024, "float16"), "cuda -arch=sm_75")
    assert not plan(lib, GEMM)["by_matrix_units"] and "cp.async" not in source(lib) and "mma.sync" not in source(lib)


def test_float32_is_multiplied_in_float32():
    lib = build(matmul(4096, 4096, 4096, transpose_b=True), H200)
    assert plan(lib, GEMM)["tile_m"] == 128 and "mma.sync" not in source(lib)


@pytest.mark.parametrize("images, channels, size", [(32, 64, 56), (32, 128, 28), (32, 256, 14), (1, 64, 56)])
def test_copies_of_single_elements_are_few_enough_for_registers(images, channels, size):
    data, weight = var("x", images, channels, size, size), var("w", channels, channels, 3, 3)
    found = plan(build(relay.nn.conv2d(data, weight, padding=1, channels=channels, kernel_size=3), H200), GEMM)
    assert found["a_lanes"] == found["b_lanes"] == 1
    threads = found["tile_m"] // found["part_m"] * (found["tile_n"] // found["part_n"])
    assert (found["tile_m"] + found["tile_n"]) * found["tile_k"] <= 32 * threads


def test_a_convolution_of_channels_last_copies_16_bytes_with_its_padding():
    body = relay.nn.conv2d(
        var("x", 32, 56, 56, 64, dtype="float16"),
        var("w", 3, 3, 64, 64, dtype="float16"),
        padding=1,
        channels=64,
        kernel_size=3,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    lib = build(body, H200)
    assert plan(lib, GEMM)["a_lanes"] == 8 and plan(lib, GEMM)["by_matrix_units"]
    assert re.search(r"cp.async.cg.shared.global \[%0\], \[%1\], 16, %2;", source(lib))


@needs_nvcc
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_registers_hold_the_sums(dtype):
    for transpose_b in (False, True):
        text = source(build(matmul(4096, 4096, 4096, dtype, transpose_b=transpose_b), H200))
        stack, registers = resources(text, "sm_90")
        assert stack <= (32 if dtype == "float32" else 0) and registers <= 255
