"""Minima, maxima and casts of floats on LLVM targets: the instructions, on every kind of CPU, and their answers here.

What they answer on emulated CPUs, and as C, is in the table of programs.py.
"""

import re

import ml_dtypes
import numpy as np
import pytest
import tessera
from programs import AROUND_THE_ENDS, FLOATS, INTEGERS, of_type, truncated_float
from tessera import relay, te, tir

X86 = [
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "nehalem", "sandybridge", "haswell", "skylake", "knl",
    "skylake-avx512", "cascadelake", "cooperlake", "icelake-server", "sapphirerapids", "graniterapids", "alderlake",
    "sierraforest", "btver2", "bdver4", "znver1", "znver2", "znver3", "znver4",
]  # fmt: skip
#: What gives the least integer for NaN and for all that does not fit.
CONVERSIONS = re.compile(r"v?cvttp[sd]2(dq|qq)[xyz]?|v?cvtts[sd]2si[lq]?")


def assembly(compute, inputs, lanes, target, dtype="float32"):
    """Of the vectorised loop of a formula over tensors that hold a whole number of vectors."""
    tensors = [te.placeholder((lanes * 4,), dtype, name=f"x{i}") for i in range(inputs)]
    out = te.compute((lanes * 4,), lambda i: compute(*(p[i] for p in tensors)), name="out")
    s = te.create_schedule(out.op)
    if lanes > 1:
        s[out].vectorize(s[out].split(out.op.axis[0], lanes)[1])
    return tessera.build(s, [*tensors, out], target).get_source("asm")


def count(text, pattern):
    return len(re.findall(rf"^\s+(?:{pattern})", text, re.MULTILINE))


@pytest.mark.parametrize("cpu, lanes", [("x86-64", 4), ("haswell", 8), ("skylake-avx512", 16), ("znver4", 16)])
def test_a_constant_limit_takes_one_instruction(cpu, lanes):
    target = f"llvm -mcpu={cpu}"
    for compute in (lambda v: te.max(v, 0.0), lambda v: te.max(tir.const(0.0), v)):
        text = assembly(compute, 1, lanes, target)
        assert count(text, "v?maxps") == 1 and count(text, "v?cmp.*ps|v?blend.*|v?andn?ps") == 0
    text = assembly(lambda v: te.max(te.min(v, 6.0), 0.0), 1, lanes, target)
    assert count(text, "v?maxps") == count(text, "v?minps") == 1 and count(text, "v?cmp.*ps") == 0


@pytest.mark.parametrize("cpu, lanes", [("haswell", 8), ("skylake-avx512", 16), ("znver4", 16)])
def test_two_operands_take_a_comparison_and_a_blend_more(cpu, lanes):
    text = assembly(te.max, 2, lanes, f"llvm -mcpu={cpu}")
    assert count(text, "vmaxps") == count(text, "vcmpunordps") == 1
    assert count(text, r"vblend[mv]ps|vmov[au]ps.*\{%k[1-7]\}") == 1


def test_arm_has_an_instruction():
    text = assembly(te.max, 2, 4, "llvm -mtriple=aarch64-linux-gnu")
    assert count(text, r"fmax\s+v") == 1 and count(text, "fcm.*") == 0


def test_fast_math_may_forget_nan():
    text = assembly(te.max, 2, 8, "llvm -mcpu=haswell -fast-math-nnan=1")
    assert count(text, "vmaxps") == 1 and count(text, "vcmpunordps") == 0


@pytest.mark.parametrize("cpu", ["haswell", "znver4", "sapphirerapids"])
@pytest.mark.parametrize("inputs", [1, 2])
def test_float16_goes_by_vectors(inputs, cpu):
    function = te.max if inputs == 2 else lambda v: te.max(v, tir.const(0, "float16"))
    text = assembly(function, inputs, 16, f"llvm -mcpu={cpu}", "float16")
    assert count(text, "vmaxp[sh]|vcmp.*ph") > 0 and count(text, "vucomis[sh]|vmaxs[sh]") == 0


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("cpu", X86)
def test_casts_take_instructions_that_agree_on_every_x86(cpu, source, lanes):
    for target in INTEGERS:
        text = assembly(lambda v, target=target: v.astype(target), 1, lanes, f"llvm -mcpu={cpu}", source)
        used = set(re.findall(r"^\s+(v?cvtt\w+)", text, re.MULTILINE))
        assert used and all(CONVERSIONS.fullmatch(name) for name in used), (target, used)


def cast_of(A, source, dtype):
    element = lambda i: tir.reinterpret(source, A[i]) if source == "bfloat16" else A[i]
    return te.compute(A.shape, lambda i: element(i).astype(dtype), name=dtype)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8, 16, 17, 32])
@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "native"])
def test_casts_of_any_number_of_lanes_agree(cpu, lanes):
    target = "llvm" if cpu == "native" else f"llvm -mcpu={cpu}"
    for source in FLOATS:
        x = np.resize(of_type(np.array(AROUND_THE_ENDS), source), lanes * 60)
        given = (x.view("uint32") >> 16).astype("uint16") if source == "bfloat16" else x
        A = te.placeholder(x.shape, "uint16" if source == "bfloat16" else source, name="A")
        outs = [cast_of(A, source, dtype) for dtype in INTEGERS]
        s = te.create_schedule([out.op for out in outs])
        for out in outs if lanes > 1 else ():
            s[out].vectorize(s[out].split(out.op.axis[0], lanes)[1])
        results = [tessera.nd.array(np.zeros(x.shape, t)) for t in INTEGERS]
        tessera.build(s, [A, *outs], target)(tessera.nd.array(given), *results)
        for dtype, got in zip(INTEGERS, results):
            wanted = np.array([truncated_float(float(v), dtype) for v in x], dtype)
            np.testing.assert_array_equal(got.numpy(), wanted, err_msg=f"{source} to {dtype}")


def test_a_constant_of_the_program_is_cast_as_at_run_time():
    """Also where LLVM folds it: a table whose elements are known."""
    x = np.array([np.nan, 3e9, -7.5, 1e30], "float32")
    out = te.compute((4,), lambda i: tir.Select(i < 2, tir.Select(i < 1, float("nan"), 3e9), -7.5).astype("int32"))
    got = tessera.nd.array(np.zeros(4, "int32"))
    tessera.build(te.create_schedule(out.op), [out], "llvm")(got)
    np.testing.assert_array_equal(got.numpy(), [truncated_float(float(v), "int32") for v in x[[0, 1, 2, 2]]])


@pytest.mark.parametrize("lanes", [1, 3, 16, 40])
@pytest.mark.parametrize("cpu", ["haswell", "native"])
def test_bfloat16_rounds_to_nearest_even_by_instruction_or_by_arithmetic(cpu, lanes):
    rng = np.random.default_rng(0)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-38, 3.4e38, -3.4e38], "float32")
    ties = (rng.integers(0x0080, 0x7F00, 400).astype("uint32") << 16 | 0x8000).view("float32")
    near = (rng.integers(0x0080, 0x7F00, 400).astype("uint32") << 16 | rng.integers(0x7FFE, 0x8003, 400)).astype(
        "uint32"
    )
    count = lanes * 60
    x = np.resize(np.concatenate([ends, ties, -ties, near.view("float32")]), count)
    A = te.placeholder((count,), "float32", name="A")
    out = te.compute((count,), lambda i: A[i].astype("bfloat16"), name="out")
    s = te.create_schedule(out.op)
    if lanes > 1:
        s[out].vectorize(s[out].split(out.op.axis[0], lanes)[1])
    got = tessera.nd.empty((count,), "bfloat16")
    tessera.build(s, [A, out], "llvm" if cpu == "native" else f"llvm -mcpu={cpu}")(tessera.nd.array(x), got)
    np.testing.assert_array_equal(got.numpy().astype("float32"), x.astype(ml_dtypes.bfloat16).astype("float32"))


@pytest.mark.parametrize("cpu, is_there", [("sapphirerapids", True), ("skylake-avx512", False)])
def test_a_kernel_rounds_to_bfloat16_by_the_instruction_of_a_cpu_that_has_one(cpu, is_there):
    x = relay.var("x", shape=(4, 64))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.cast(relay.nn.relu(x), "bfloat16")))
    text = relay.build(mod, f"llvm -mcpu={cpu}").get_lib().get_source("asm")
    assert ("vcvtneps2bf16" in text) == is_there
