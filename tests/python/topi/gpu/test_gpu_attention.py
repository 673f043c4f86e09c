"""sm_90a: attention as one kernel, whose scores stay in registers, against NumPy; what is none keeps its kernels."""

import shutil
import subprocess

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import build, plan, programs, random, rules, run, source, var
from tessera import relay

ATTENTION = "attention_wgmma"
HOPPER = "cuda -arch=sm_90a"
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")


def is_hopper():
    return tvm.cuda(0).exist and tvm.cuda(0).compute_version == "9.0"


def on_hopper(test):
    reason = "no device of compute capability 9.0"
    return pytest.mark.gpu(pytest.mark.skipif(not is_hopper(), reason=reason)(test))


def attention(
    heads,
    rows,
    keys,
    size,
    width=None,
    dtype="float16",
    masked="",
    samples=1,
    transpose_b=False,
    wide=False,
    scale=0.25,
):
    """softmax(scale * q k^T + mask) v; `masked`: "add" for an additive mask of keys, "where" for a causal one."""
    width = width or size
    q, k = var("q", heads, rows, size, dtype=dtype), var("k", heads, keys, size, dtype=dtype)
    v = var("v", heads, *((width, keys) if transpose_b else (keys, width)), dtype=dtype)
    scores = relay.nn.batch_matmul(q, k) * relay.cast(relay.const(scale), dtype)
    if masked:
        scores = relay.reshape(scores, (samples, heads // samples, rows, keys))
    if masked == "add":
        scores = scores + var("mask", samples, 1, 1, keys, dtype=dtype)
    if masked == "where":
        scores = relay.where(
            var("mask", 1, 1, rows, keys, dtype="bool"), scores, relay.cast(relay.const(-np.inf), dtype)
        )
    if wide:
        scores = relay.cast(scores, "float32")
    powers = relay.cast(relay.nn.softmax(scores), dtype) if wide else relay.nn.softmax(scores)
    return relay.nn.batch_matmul(relay.reshape(powers, (heads, rows, keys)), v, transpose_b=transpose_b)


# ---- what is emitted -------------------------------------------------------------------------------------------------


def test_attention_is_one_kernel_that_writes_no_scores():
    lib = build(attention(128, 4096, 4096, 128, dtype="bfloat16"), HOPPER)
    assert rules(lib) == [ATTENTION]
    assert plan(lib, ATTENTION) == {"groups": 2, "columns": 128, "stages": 2, "by_turns": 1}
    text = source(lib)
    assert text.count("__global__") == 1 and "ex2.approx.ftz.f32" in text
    assert (
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" in text
        and "tsr_wgmma_m64n128k16_f32_bf16_bf16_r1" in text
    )
    assert "T_batch_matmul" not in str(programs(lib)[0].body).replace("T_batch_matmul_NN", "")


@pytest.mark.parametrize("masked", ["", "add", "where"])
@pytest.mark.parametrize("wide", [False, True])
def test_masks_and_softmax_in_float32_are_part_of_it(masked, wide):
    lib = build(attention(8, 256, 256, 64, masked=masked, samples=2, wide=wide), HOPPER)
    assert rules(lib) == [ATTENTION]


def test_values_may_lie_either_way():
    assert "_f16_f16_r0(" in source(build(attention(8, 256, 256, 64, transpose_b=True), HOPPER))
    assert "_f16_f16_r1(" in source(build(attention(8, 256, 256, 64), HOPPER))


def test_what_fits_no_warp_groups_keeps_its_kernels():
    assert ATTENTION not in rules(build(attention(8, 256, 256, 64), "cuda -arch=sm_90"))
    assert ATTENTION not in rules(build(attention(8, 256, 256, 64, dtype="float32"), HOPPER))
    assert ATTENTION not in rules(build(attention(8, 256, 256, 320), HOPPER))
    assert ATTENTION not in rules(build(attention(8, 1, 256, 64), HOPPER))


def test_keys_in_lines_that_the_copy_engine_does_not_move_leave_softmax_a_kernel_of_its_own():
    q, v = var("q", 8, 197, 64, dtype="float16"), var("v", 8, 197, 64, dtype="float16")
    scores = relay.nn.batch_matmul(q, var("k", 8, 64, 197, dtype="float16"), transpose_b=False)
    lib = build(relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=False), HOPPER)
    assert len(rules(lib)) == 3 and "rows_by_threads" in rules(lib)


def of_projection(samples, rows, heads, size, parts, scale=0.25):
    """Attention as exporters write it: of one projection of queries, keys and values (`parts`: how they are told apart), with scaled
    queries and keys, and heads that are put together again."""
    width = heads * size
    x = var("x", rows, samples, 3 * width, dtype="float16")
    if parts == "take":
        split = relay.transpose(relay.reshape(x, (rows, samples, 3, width)), (2, 0, 1, 3))
        q, k, v = (relay.take(split, relay.const(i, "int64"), axis=0) for i in range(3))
    elif parts == "split":
        q, k, v = relay.split(x, 3, axis=2)
    else:
        q, k, v = (relay.strided_slice(x, [0, 0, i * width], [rows, samples, (i + 1) * width]) for i in range(3))

    def of_heads(t):
        return relay.transpose(relay.reshape(t, (rows, samples, heads, size)), (1, 2, 0, 3))

    factor = relay.const(np.full(1, np.sqrt(scale), "float16"))
    q, k = of_heads(q) * factor, relay.transpose(of_heads(k), (0, 1, 3, 2)) * factor
    every = samples * heads
    q, k = relay.reshape(q, (every, rows, size)), relay.reshape(k, (every, size, rows))
    scores = relay.reshape(relay.nn.batch_matmul(q, k, transpose_b=False), (samples, heads, rows, rows))
    powers = relay.cast(relay.nn.softmax(relay.cast(scores, "float32")), "float16")
    values = relay.reshape(of_heads(v), (every, rows, size))
    out = relay.nn.batch_matmul(relay.reshape(powers, (every, rows, rows)), values, transpose_b=False)
    out = relay.transpose(relay.reshape(out, (samples, heads, rows, size)), (2, 0, 1, 3))
    return relay.reshape(out, (rows, samples, width))


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("parts", ["take", "split", "slice"])
def test_heads_are_read_and_written_by_strides_of_one_projection(samples, parts):
    lib = build(of_projection(samples, 197, 12, 64, parts), HOPPER)
    assert rules(lib) == [ATTENTION]
    assert "tsr_vec<half, 8>" in source(lib)  # results are stored where they go, by 16 bytes


def test_operands_that_others_read_too_stay_as_they_are():
    q, k, v = (var(name, 256, 8, 64, dtype="float16") for name in "qkv")
    keys = relay.transpose(k, (1, 0, 2))
    q, v = relay.transpose(q, (1, 0, 2)), relay.transpose(v, (1, 0, 2))
    powers = relay.nn.softmax(relay.nn.batch_matmul(q, keys))
    out = relay.Tuple([relay.nn.batch_matmul(powers, v, transpose_b=False), keys])
    assert sorted(rules(build(out, HOPPER))) == [ATTENTION, "threads"]


def test_a_softmax_with_two_consumers_is_no_attention():
    q, k, v = (var(name, 8, 256, 64, dtype="float16") for name in "qkv")
    powers = relay.nn.softmax(relay.nn.batch_matmul(q, k))
    out = relay.Tuple([relay.nn.batch_matmul(powers, v, transpose_b=False), powers])
    assert ATTENTION not in rules(build(out, HOPPER))


def test_a_plan_that_does_not_fit_is_reported(capfd):
    lib = build(attention(8, 256, 256, 64), HOPPER, attention_wgmma={"columns": 100})
    assert ATTENTION not in rules(lib) and "the plan of attention does not fit" in capfd.readouterr().err


@needs_nvcc
@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("masked", ["", "add"])
def test_nothing_is_spilled(size, masked, tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_text(source(build(attention(64, 1000, 1000, size, masked=masked), HOPPER)))
    command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-Xptxas", "-v"]
    command += ["-o", str(tmp_path / "kernel.cubin"), str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "0 bytes spill stores" in said and "serialized" not in said


# ---- what it answers -------------------------------------------------------------------------------------------------


def check(
    heads, rows, keys, size, width=None, masked="", samples=1, transpose_b=False, wide=False, knobs=None, scale=0.25
):
    body = attention(heads, rows, keys, size, width, "float16", masked, samples, transpose_b, wide, scale)
    lib = build(body, "cuda", attention_wgmma=knobs or {})
    assert rules(lib) == [ATTENTION]
    width = width or size
    q, k = random(heads, rows, size, dtype="float16"), random(heads, keys, size, dtype="float16", seed=1)
    v = random(heads, *((width, keys) if transpose_b else (keys, width)), dtype="float16", seed=2)
    inputs = {"q": q, "k": k, "v": v}
    scores = scale * q.astype("float64") @ k.astype("float64").swapaxes(1, 2)
    if masked == "add":
        inputs["mask"] = np.where(random(samples, 1, 1, keys) > 0.5, -np.inf, random(samples, 1, 1, keys)).astype(
            "float16"
        )
        scores = scores + np.repeat(inputs["mask"].astype("float64").reshape(samples, 1, keys), heads // samples, 0)
    if masked == "where":
        inputs["mask"] = np.tri(rows, keys, keys - rows, dtype=bool).reshape(1, 1, rows, keys)
        scores = np.where(inputs["mask"][0], scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    values = v.astype("float64").swapaxes(1, 2) if transpose_b else v.astype("float64")
    wanted = powers / powers.sum(-1, keepdims=True) @ values
    np.testing.assert_allclose(run(lib, "cuda", **inputs), wanted, rtol=5e-3, atol=2e-3)


@on_hopper
@pytest.mark.parametrize("size", [64, 128, 256, 80])
@pytest.mark.parametrize("rows, keys", [(256, 256), (1000, 777), (100, 64), (64, 1500)])
def test_sizes(size, rows, keys):
    check(12, rows, keys, size)
    check(150, rows, keys, size)


@on_hopper
@pytest.mark.parametrize("masked", ["add", "where"])
@pytest.mark.parametrize("wide", [False, True])
def test_masks(masked, wide):
    check(8, 384, 384, 64, masked=masked, samples=2, wide=wide)
    check(40, 500, 500, 128, masked=masked, samples=4, wide=wide)


@on_hopper
def test_values_of_another_width_and_the_other_way():
    check(16, 300, 400, 64, width=128)
    check(16, 300, 400, 128, width=64, transpose_b=True)


@on_hopper
@pytest.mark.parametrize(
    "knobs",
    [
        {"by_turns": False},
        {"groups": 1, "by_turns": False},
        {"groups": 3, "columns": 64},
        {"columns": 64, "stages": 4},
        {"stages": 1},
    ],
)
def test_the_knobs_of_attention_may_be_moved(knobs):
    check(20, 700, 900, 64, knobs=knobs)
    check(20, 700, 900, 64, masked="add", samples=5, knobs=knobs)


@on_hopper
@pytest.mark.parametrize("samples, rows, size", [(1, 197, 64), (3, 197, 64), (2, 256, 128), (5, 70, 80)])
@pytest.mark.parametrize("parts", ["take", "split", "slice"])
def test_heads_of_one_projection(samples, rows, size, parts):
    heads = 12
    lib = build(of_projection(samples, rows, heads, size, parts), "cuda")
    assert rules(lib) == [ATTENTION]
    x = random(rows, samples, 3 * heads * size, dtype="float16")
    split = x.astype("float64").reshape(rows, samples, 3, heads, size)
    q, k, v = (split[:, :, i].transpose(1, 2, 0, 3) for i in range(3))
    scores = 0.25 * q @ k.swapaxes(2, 3)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = (powers / powers.sum(-1, keepdims=True) @ v).transpose(2, 0, 1, 3).reshape(rows, samples, heads * size)
    np.testing.assert_allclose(run(lib, "cuda", x=x), wanted, rtol=5e-3, atol=2e-3)


@on_hopper
def test_large_scores_do_not_overflow():
    check(8, 256, 256, 64, scale=40.0)
