"""Attention of float32 as one kernel of threads, whose scores stay on the chip, against NumPy; on any kind of GPU."""

import numpy as np
import pytest
from gpu_checks import DEVICES, build, plan, random, rules, run, source, var
from tessera import relay

ATTENTION = "attention_by_threads"
SCALE = np.float32(0.25)


def attention(heads, rows, keys, size, width=None, transpose_b=False, masked=""):
    """softmax(q k^T / 4 + mask) v; `masked`: "add" for an additive mask of keys, "where" for a causal one."""
    q, k = var("q", heads, rows, size), var("k", heads, keys, size)
    width = width or size
    v = var("v", heads, *((width, keys) if transpose_b else (keys, width)))
    scores = relay.nn.batch_matmul(q, k) * relay.const(SCALE)
    if masked == "add":
        scores = scores + var("mask", 1, rows, keys)
    if masked == "where":
        scores = relay.where(var("mask", 1, rows, keys, dtype="bool"), scores, relay.const(np.float32(-np.inf)))
    return relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=transpose_b)


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def check(target, heads, rows, keys, size, width=None, transpose_b=False, masked="", knobs=None):
    lib = build(
        attention(heads, rows, keys, size, width, transpose_b, masked), target, attention_by_threads=knobs or {}
    )
    assert rules(lib) == [ATTENTION]
    width = width or size
    inputs = {"q": random(heads, rows, size), "k": random(heads, keys, size, seed=1)}
    inputs["v"] = random(heads, *((width, keys) if transpose_b else (keys, width)), seed=2)
    scores = SCALE * inputs["q"].astype("float64") @ inputs["k"].swapaxes(1, 2)
    if masked == "add":
        inputs["mask"] = np.where(random(1, rows, keys) > 0.5, -np.inf, random(1, rows, keys)).astype("float32")
        scores = scores + inputs["mask"]
    if masked == "where":
        inputs["mask"] = np.tri(rows, keys, keys - rows, dtype=bool).reshape(1, rows, keys)
        scores = np.where(inputs["mask"], scores, -np.inf)
    wanted = softmax(scores) @ (inputs["v"].swapaxes(1, 2) if transpose_b else inputs["v"])
    np.testing.assert_allclose(run(lib, target, **inputs), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(
    "rows, keys, size, width", [(64, 64, 64, 64), (50, 77, 64, 48), (33, 100, 30, 18), (40, 70, 128, 80)]
)
def test_sizes(target, rows, keys, size, width):
    check(target, 3, rows, keys, size, width)
    check(target, 3, rows, keys, size, width, transpose_b=True)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("masked", ["add", "where"])
def test_masks(target, masked):
    check(target, 4, 60, 60, 32, masked=masked)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(
    "knobs",
    [
        {"rows": 32, "part": 4, "columns": 32},
        {"rows": 64, "part": 8, "columns": 16},
        {"columns": 16},
        {"rows": 8, "part": 1},
    ],
)
def test_its_knobs_may_be_moved(target, knobs):
    check(target, 2, 70, 90, 16, knobs=knobs)


def heads_of(x, samples, rows, heads, size):
    return relay.transpose(relay.reshape(x, (samples, rows, heads, size)), (0, 2, 1, 3))


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("samples", [1, 2])
def test_heads_are_read_and_written_where_the_projections_have_them(target, samples):
    rows, heads, size = 40, 3, 16
    every, width = samples * heads, heads * size
    x = relay.split(var("x", samples, rows, 3 * width), 3, axis=2)
    q, k, v = (heads_of(part, samples, rows, heads, size) for part in x)
    q, v = relay.reshape(q * relay.const(SCALE), (every, rows, size)), relay.reshape(v, (every, rows, size))
    k = relay.reshape(relay.transpose(k, (0, 1, 3, 2)), (every, size, rows))
    powers = relay.nn.softmax(relay.nn.batch_matmul(q, k, transpose_b=False))
    out = relay.reshape(relay.nn.batch_matmul(powers, v, transpose_b=False), (samples, heads, rows, size))
    out = relay.reshape(relay.transpose(out, (0, 2, 1, 3)), (samples, rows, width))
    lib = build(out, target)
    assert rules(lib) == [ATTENTION]
    data = random(samples, rows, 3 * width)
    q, k, v = data.astype("float64").reshape(samples, rows, 3, heads, size).transpose(2, 0, 3, 1, 4)
    wanted = (softmax(SCALE * q @ k.swapaxes(2, 3)) @ v).transpose(0, 2, 1, 3).reshape(samples, rows, width)
    np.testing.assert_allclose(run(lib, target, x=data), wanted, rtol=2e-5, atol=2e-6)


def test_a_block_takes_fewer_rows_where_blocks_would_be_few():
    assert plan(build(attention(768, 197, 197, 64), "cuda -arch=sm_90"), ATTENTION)["rows"] == 128
    assert plan(build(attention(12, 128, 128, 64), "cuda -arch=sm_90"), ATTENTION)["rows"] == 16


def test_scores_are_not_written_to_memory():
    text = source(build(attention(12, 128, 128, 64), "cuda -arch=sm_90"))
    assert text.count("__global__") == 1


def test_heads_that_do_not_fit_shared_memory_keep_their_kernels():
    assert ATTENTION not in rules(build(attention(2, 64, 64, 264), "cuda -arch=sm_90"))


def test_a_plan_that_does_not_fit_is_reported(capfd):
    lib = build(attention(2, 64, 64, 32), "cuda -arch=sm_90", attention_by_threads={"columns": 24})
    assert ATTENTION not in rules(lib) and "the plan of attention by threads does not fit" in capfd.readouterr().err
