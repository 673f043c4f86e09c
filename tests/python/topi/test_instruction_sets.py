"""The rules for CPUs on every instruction set: the kernels of cpu_cases.py, run and held against NumPy.

Processors that this one is not are emulated by qemu, which has vectors of SVE of any length.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import cc

for folder in ("codegen", "relay"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
from cpu_cases import CASES, QUICK, Inputs  # noqa: E402
from references import REFERENCES, evaluate  # noqa: E402
from references_nn import REFERENCES as NN_REFERENCES  # noqa: E402
from test_agreement import Machine, dtype_numbers  # noqa: E402
from test_gemm import inner_loop  # noqa: E402
from test_models import NETWORKS, expected, seeded  # noqa: E402

ARM = "llvm -mtriple=aarch64-linux-gnu"


def arm(options: str, cpu: str) -> Machine:
    return Machine(f"{ARM} {options}".strip(), "aarch64-linux-gnu", "qemu-aarch64", cpu)


MACHINES = {
    "x86-64": Machine("llvm -mcpu=x86-64"),
    "avx2": Machine("llvm -mcpu=haswell"),
    "neon": arm("", "cortex-a72"),
    "neon+dotprod": arm("-mattr=+dotprod", "max"),
    "neon+i8mm": arm("-mattr=+dotprod,+i8mm,+bf16,+fullfp16", "max"),
    "sve128": arm("-mattr=+sve -vector-width=128", "max,sve128=on"),
    "sve256": arm("-mattr=+sve -vector-width=256", "max,sve256=on"),
    "sve512": arm("-mattr=+sve -vector-width=512", "max,sve512=on"),
    "sve256+i8mm": arm("-mattr=+sve,+i8mm,+bf16,+fullfp16 -vector-width=256", "max,sve256=on"),
    "sve512+i8mm": arm("-mattr=+sve,+i8mm,+bf16,+fullfp16 -vector-width=512", "max,sve512=on"),
}


def shaped(scale, like, axis):
    shape = [1] * like.ndim
    shape[axis] = -1
    return np.asarray(scale).reshape(shape) if np.ndim(scale) else scale


def bfloat16(x):
    """As float32, of which the upper half counts: NumPy has no such floats."""
    bits = x.astype("float32").view("uint32").astype("uint64")
    return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype("uint32").view("float32")


INTEGER_REFERENCES = {
    "qnn.dequantize": lambda attrs, x, scale, zero: (
        (x.astype("float32") - shaped(zero, x, int(attrs.axis))) * shaped(scale, x, int(attrs.axis))
    ).astype("float32"),
    "qnn.quantize": lambda attrs, x, scale, zero: np.clip(np.round(x / scale) + zero, 0, 255).astype("uint8"),
    "reinterpret": lambda attrs, x: (
        (x.view("uint32") >> 16).astype("uint16") if x.dtype == "float32" else x.view(str(attrs.dtype))
    ),
    "cast": lambda attrs, x: bfloat16(x) if str(attrs.dtype) == "bfloat16" else x.astype(str(attrs.dtype)),
}


@dataclass
class Program:
    """Several cases in one model, and what NumPy answers."""

    names: list[str]
    mod: tessera.IRModule
    values: dict[str, np.ndarray]
    answers: list[np.ndarray]


@cache
def program(names: tuple[str, ...]) -> Program:
    make = Inputs()
    body = relay.Tuple([CASES[name](make) for name in names])
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(body))
    inferred = mod["main"].body
    answers = evaluate(inferred, make.values, {**REFERENCES, **NN_REFERENCES, **INTEGER_REFERENCES})
    return Program(list(names), mod, make.values, [np.asarray(answer) for answer in answers])


def describe(x: np.ndarray) -> str:
    return f"t {dtype_numbers(str(x.dtype))} {x.ndim} {' '.join(map(str, x.shape))}\n"


def run_model(machine: Machine, library: Path, inputs: list[np.ndarray], outputs: list[np.ndarray], folder: Path):
    """The outputs of a compiled model, run where its machine runs; `outputs` tell their shapes and types."""
    calls = ["default 1\nd 1 0\n"]
    calls += [f".set_input 2\ni {i}\n{describe(x)}" for i, x in enumerate(inputs)]
    calls += [".run 0\n", *(f".get_output 2\ni {i}\n{describe(x)}" for i, x in enumerate(outputs))]
    (folder / "calls").write_text("".join(calls))
    (folder / "input").write_bytes(b"".join(x.tobytes() for x in (*inputs, *outputs)))
    command = [*machine.runner(), str(library), *(str(folder / name) for name in ("calls", "input", "output"))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env={**os.environ, "TVM_NUM_THREADS": "2"}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    left, found = (folder / "output").read_bytes(), []
    left = left[sum(x.nbytes for x in inputs) :]
    for x in outputs:
        found.append(np.frombuffer(left[: x.nbytes], x.dtype).reshape(x.shape))
        left = left[x.nbytes :]
    return found


def check(machine: Machine, wanted: Program, folder: Path):
    machine.skip_where_tools_are_missing()
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(wanted.mod, machine.target)
    library.export_library(
        str(folder / "model.so"), cc.cross_compiler(f"{machine.triple}-g++") if machine.triple else None
    )
    names = [param.name_hint for param in wanted.mod["main"].params]
    inputs = [wanted.values[name] for name in names]
    blank = [np.zeros_like(x) for x in wanted.answers]
    problems = []
    for name, got, want in zip(
        wanted.names, run_model(machine, folder / "model.so", inputs, blank, folder), wanted.answers
    ):
        scale = np.abs(want).max() if want.dtype.kind == "f" else 0
        limit = (1e-2 if "float16" in name else 1e-3 if "winograd" in name else 2e-5) * scale
        worst = np.abs(got.astype("float64") - want.astype("float64")).max()
        if not worst <= limit:
            problems.append(f"{name}: {worst:.3g} off, of {scale:.3g}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", MACHINES)
def test_the_chief_kernels_agree_with_numpy_on(name, tmp_path):
    check(MACHINES[name], program(QUICK), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_all_kernels_agree_with_numpy_on(name, tmp_path):
    check(MACHINES[name], program(tuple(CASES)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["resnet of small images", "mobilenet"])
@pytest.mark.parametrize("name", ["avx2", "neon", "sve256", "sve512"])
def test_networks_agree_with_numpy_on(name, network, tmp_path):
    mod, params = NETWORKS[network]()
    params = seeded(params)
    shape = next(p for p in mod["main"].params if p.name_hint == "data").checked_type.concrete_shape
    data = np.random.default_rng(1).uniform(-1, 1, shape).astype("float32")
    answer = np.asarray(expected(mod, params, data))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    check(MACHINES[name], Program([f"{network} with winograd"], mod, {"data": data}, [answer]), tmp_path)


# ---- the code itself -------------------------------------------------------------------------------------------------


@cache
def source(name: str, machine: str) -> str:
    mod = tessera.IRModule.from_expr(CASES[name](Inputs()))
    with tessera.transform.PassContext(opt_level=3):
        return relay.build(mod, MACHINES[machine].target).get_lib().get_source("asm")


def assembly(name: str, machine: str) -> list[str]:
    """All instructions of the kernels of a case."""
    text = source(name, machine)
    lines = [line.strip() for line in text.split("\n") if line.startswith("\t")]
    return [line for line in lines if not line.startswith(".")]


COUNTING = {"add", "addq", "incq", "sub", "subs", "subq", "cmp", "cmpq", "jne", "jae", "b.ne", "b.eq", "leaq"}
LOADS = {
    "avx2": {"vmovups", "vmovaps", "vbroadcastss", "vpbroadcastd"},
    "neon": {"ldr", "ldp", "ldur", "ld1r"},
    "sve": {"ld1w", "ld1b", "ld1rw"},
}


@pytest.mark.parametrize("case", ["conv_1x1", "conv_3x3", "conv_first", "conv_depthwise", "matmul_64x96x300"])
@pytest.mark.parametrize(
    ("machine", "loads", "instruction"),
    [("avx2", "avx2", "vfmadd231ps"), ("neon", "neon", "fmla"), ("sve256", "sve", "fmla"), ("sve512", "sve", "fmla")],
)
def test_inner_loops_are_multiply_adds_and_loads(machine, loads, instruction, case):
    check_loop(machine, LOADS[loads], instruction, case)


@pytest.mark.parametrize("case", ["bytes_3x3", "bytes_dense_wide"])
@pytest.mark.parametrize(("machine", "loads"), [("neon+i8mm", "neon"), ("sve256+i8mm", "sve"), ("sve512+i8mm", "sve")])
def test_int8_contractions_are_dots_and_loads(machine, loads, case):
    check_loop(machine, LOADS[loads], "usdot", case)


def check_loop(machine: str, loads: set[str], instruction: str, case: str):
    """Nothing but what is named stands in the loop, pointers aside; sums stay in registers."""
    loop = inner_loop(source(case, machine), instruction)
    found = [line.split()[0] for line in loop]
    others = [line for line in loop if line.split()[0] not in {instruction, *loads, *COUNTING}]
    assert not [line for line in others if not re.match(r"mov\tx", line)], "\n".join(loop)
    assert not [line for line in loop if re.search(r"\[sp|\(%rsp|mul vl", line)], "\n".join(loop)
    assert found.count(instruction) * 3 >= len(found)


@pytest.mark.parametrize(("machine", "side"), [("sve256", 8), ("sve512", 16)])
def test_sve_turns_squares_over_by_zips_alone(machine, side):
    lines = assembly("transpose_whole", machine)
    assert sum(line.startswith("zip") for line in lines) == side * {8: 3, 16: 4}[side]
    assert sum(line.startswith("ld1w") for line in lines) == sum(line.startswith("st1w") for line in lines) == side
    assert not [line for line in lines if re.search(r"z\d+\.s\[", line)]  # lane by lane


def test_shuffles_that_are_no_instruction_of_sve_are_two_tables():
    lines = assembly("strided", "sve512")
    assert sum(line.startswith("tbl") for line in lines) >= 2
    assert not [line for line in lines if re.search(r"z\d+\.s\[", line)]


def test_the_table_of_cpus_is_what_the_compiler_knows():
    text = (Path(__file__).parents[3] / "docs" / "cross_compilation.md").read_text()
    rows = re.findall(r"^\| ([a-z][^|]*) \| (SSE|AVX2|AVX-512|NEON|SVE \d+) \| ([\d, ]+) \|$", text, re.M)
    isas = {"SSE": "sse", "AVX2": "avx2", "AVX-512": "avx512", "NEON": "neon", "SVE 256": "sve256", "SVE 512": "sve512"}
    names = [(name, vectors, sizes) for row, vectors, sizes in rows for name in row.split(", ")]
    assert len(names) > 60
    host = tessera.topi.cpu.machine_of("llvm").cpu
    for name, vectors, sizes in names:
        is_arm = vectors in ("NEON", "SVE 256", "SVE 512")
        machine = tessera.topi.cpu.machine_of(f"{ARM if is_arm else 'llvm'} -mcpu={name}")
        assert machine.isa == isas[vectors], name
        if name != host:  # which is asked
            assert f"{machine.l1_bytes // 1024}, {machine.l2_bytes // 1024}, {machine.l3_bytes // 1024}" == sizes, name
