"""GPUs: rows (sums, softmax, normalisations) are one kernel, transposes go through shared memory."""

import re

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import DEVICES, build, plan, random, rules, run, source, var
from tessera import relay

ROWS, TRANSPOSE = "rows_by_threads", "transpose_through_shared_memory"


def np_softmax(x, axis=-1):
    e = np.exp(x.astype("float64") - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def centred(x):
    mean = relay.mean(x, axis=-1, keepdims=True)
    return x - mean


def norm(x, length):
    gamma = relay.const(np.linspace(0.5, 2, length).astype("float32"))
    return relay.nn.layer_norm(x, gamma, relay.const(np.full(length, 0.25, "float32")), axis=-1)


def np_norm(x):
    mean, deviation = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - mean) / deviation * np.linspace(0.5, 2, x.shape[-1]) + 0.25


CASES = {
    "softmax": (relay.nn.softmax, np_softmax),
    "log_softmax": (relay.nn.log_softmax, lambda x: np.log(np_softmax(x))),
    "sum": (lambda x: relay.sum(x, axis=-1), lambda x: x.sum(-1)),
    "max": (lambda x: relay.max(x, axis=-1, keepdims=True), lambda x: x.max(-1, keepdims=True)),
    "mean of squares": (lambda x: relay.mean(x * x, axis=-1), lambda x: (x * x).mean(-1)),
    "centred": (centred, lambda x: x - x.mean(-1, keepdims=True)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", [(5, 64), (3, 7, 333), (2, 5000)])
def test_rows(case, shape, device):
    make, reference = CASES[case]
    lib = build(make(var("x", *shape)), device)
    assert rules(lib)[0] == ROWS
    x = random(*shape)
    np.testing.assert_allclose(run(lib, device, x=x), reference(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_softmax_is_one_kernel(device):
    assert rules(build(relay.nn.softmax(var("x", 64, 1000)), device)) == [ROWS]


@pytest.mark.parametrize("device", DEVICES)
def test_layer_norm(device):
    x = random(37, 129)
    lib = build(norm(var("x", 37, 129), 129), device)
    assert rules(lib) == [ROWS]
    np.testing.assert_allclose(run(lib, device, x=x), np_norm(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axis", [0, 1, (0, 2), (1, 2), None])
def test_sums_over_any_axes(axis, device):
    x = random(40, 35, 33)
    lib = build(relay.sum(var("x", *x.shape), axis=axis), device)
    assert rules(lib) == [ROWS]
    np.testing.assert_allclose(run(lib, device, x=x), x.sum(axis), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, axis", [((3, 200_001), 1), ((600, 800), None), ((30_000, 9), 0)])
def test_a_few_long_rows_are_divided_between_blocks(shape, axis, device):
    x = random(*shape)
    lib = build(relay.mean(var("x", *shape), axis=axis), device)
    assert rules(lib) == [ROWS] and plan(lib, ROWS)["parts"] > 1
    np.testing.assert_allclose(run(lib, device, x=x), x.mean(axis), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_softmax_over_channels_gives_neighbours_to_neighbouring_threads(device):
    x = random(2, 21, 5, 7)
    lib = build(relay.nn.softmax(var("x", *x.shape), axis=1), device)
    assert rules(lib) == [ROWS] and plan(lib, ROWS)["by_columns"] == 1
    np.testing.assert_allclose(run(lib, device, x=x), np_softmax(x, 1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_sums_of_other_types(dtype, device):
    x = random(9, 200, dtype=dtype)
    lib = build(relay.sum(var("x", *x.shape, dtype=dtype), axis=1), device)
    assert rules(lib) == [ROWS]
    np.testing.assert_allclose(run(lib, device, x=x), x.astype("float64").sum(1), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "knobs", [{"threads": 64, "rows": 2}, {"threads": 1, "rows": 8}, {"steps": 2, "holds_row": 0}, {"lanes": 2}]
)
def test_the_knobs_of_rows_may_be_moved(knobs, device):
    x = random(33, 200)
    default = plan(build(relay.nn.softmax(var("x", *x.shape)), device), ROWS)
    knobs = {"holds_row": 0, **knobs}
    lib = build(relay.nn.softmax(var("x", *x.shape)), device, **{ROWS: knobs})
    assert plan(lib, ROWS) == {**default, **knobs}
    np.testing.assert_allclose(run(lib, device, x=x), np_softmax(x), rtol=1e-4, atol=1e-6)


def test_a_row_that_fits_is_read_once():
    lib = build(relay.nn.softmax(var("x", 65536, 1024)), "cuda -arch=sm_90")
    text = source(lib)
    assert len(re.findall(r"\*\(const float4\*\)\(p\d* \+", text)) == 1 and "__shfl_down_sync" in text
    assert plan(lib, ROWS) == {
        "threads": 32,
        "rows": 4,
        "lanes": 4,
        "steps": 8,
        "holds_row": 1,
        "by_columns": 0,
        "shifts": 0,
        "parts": 1,
    }


def test_many_warps_of_a_row_combine_through_shared_memory_once():
    text = source(build(relay.sum(var("x", 4096, 32768), axis=1), "cuda -arch=sm_90"))
    assert text.count("__syncthreads()") == 2 and text.count("__shfl_down_sync") == 10


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "shape, axes",
    [((100, 77), (1, 0)), ((64, 128), (1, 0)), ((3, 40, 9, 33), (0, 2, 3, 1)), ((8, 9, 70, 66), (0, 1, 3, 2))],
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64"])
def test_transposes(shape, axes, dtype, device):
    x = random(*shape, dtype=dtype)
    lib = build(relay.transpose(var("x", *shape, dtype=dtype), axes), device)
    assert rules(lib) == [TRANSPOSE]
    np.testing.assert_array_equal(run(lib, device, x=x), x.transpose(axes))


@pytest.mark.parametrize("device", DEVICES)
def test_a_transpose_computes_with_what_lies_either_way(device):
    x, y = random(70, 50), random(50, 70)
    lib = build(relay.exp(relay.transpose(var("x", 70, 50)) + var("y", 50, 70)), device)
    assert rules(lib) == [TRANSPOSE]
    np.testing.assert_allclose(run(lib, device, x=x, y=y), np.exp(x.T + y), rtol=1e-5, atol=1e-5)


def test_a_transpose_reads_and_writes_16_bytes_at_once():
    for dtype, vector in (("float32", "float4"), ("float16", "tsr_vec<half, 8>")):
        text = source(build(relay.transpose(var("x", 4096, 4096, dtype=dtype)), "cuda -arch=sm_90"))
        assert f"= *(const {vector}*)(p" in text and f"*({vector}*)(T_transpose" in text
        assert text.count("__syncthreads()") == 1


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_dynamic_extents(device):
    rows, length = tvm.relay.Any(), tvm.relay.Any()
    x = relay.var("x", relay.TensorType((rows, length), "float32"))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x)))
    vm = relay.create_executor("vm", mod, tvm.device(device, 0), device)
    for shape in ((3, 5), (17, 1000)):
        data = random(*shape)
        np.testing.assert_allclose(vm.evaluate()(data).numpy(), np_softmax(data), rtol=1e-4, atol=1e-6)


# ---- what exporters and mixed precision make of norms ------------------------------------------------------------------


def norm_of_fp16(order):
    x, g, b = var("x", 3, 50, 64, dtype="float16"), var("g", 64, dtype="float16"), var("b", 64, dtype="float16")
    mean = relay.cast(relay.mean(relay.cast(x, "float32"), -1, keepdims=True), "float16")
    rest = x - mean
    variance = relay.mean(relay.cast(rest * rest, "float32"), -1, keepdims=True)
    factor = relay.cast(relay.rsqrt(variance + relay.const(np.float32(1e-5))), "float16")
    return relay.transpose(rest * factor * g + b, order)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_a_norm_of_fp16_is_one_kernel_with_the_transposition_of_its_rows(target, order):
    lib = build(norm_of_fp16(order), target)
    assert rules(lib) == ["rows_by_threads"]
    x, g, b = random(3, 50, 64, dtype="float16"), random(64, dtype="float16"), random(64, dtype="float16", seed=1)
    wide = x.astype("float64")
    wanted = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5) * g + b
    np.testing.assert_allclose(run(lib, target, x=x, g=g, b=b), wanted.transpose(order), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("rows, length", [(5, 4099), (3, 1025), (2, 1026), (4, 2047)])
def test_rows_that_begin_between_vectors_are_read_by_vectors(rows, length, dtype, device):
    x = random(rows, length, dtype=dtype)
    lib = build(relay.nn.softmax(var("x", *x.shape, dtype=dtype)), device)
    chosen = plan(lib, ROWS)
    assert chosen["shifts"] == 1 and chosen["lanes"] == 16 // x.itemsize
    want = np_softmax(x.astype("float32"))
    np.testing.assert_allclose(run(lib, device, x=x), want, rtol=1e-4 if dtype == "float32" else 2e-3, atol=1e-6)
    largest = build(relay.max(var("x", *x.shape, dtype=dtype) * relay.const(2, dtype), axis=1), device)
    np.testing.assert_array_equal(run(largest, device, x=x), (x * 2).max(1))


def test_a_row_of_many_odd_elements_stays_in_registers():
    lib = build(relay.nn.softmax(var("x", 4096, 50257)), "cuda -arch=sm_90")
    chosen = plan(lib, ROWS)
    assert (chosen["threads"], chosen["steps"], chosen["holds_row"], chosen["shifts"]) == (512, 25, 1, 1)
    assert len(re.findall(r"\*\(const float4\*\)\(p\d* \+", source(lib))) == 3  # whole steps, and both ends
