"""Kernels agree on every CPU target: the table of programs.py is compiled for each, run, and held against NumPy.

Libraries for other machines are linked by Debian's cross compilers, loaded by a cross-built runtime
(`make runtime TARGET=...`) and run by qemu. A machine without these packages skips them and says which are missing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tessera
from programs import ALL, ROWS, TOLERANCE, Case, cases, from_bytes, of_type, to_bytes
from tessera.contrib import cc

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Machine:
    """A target, and how its code is linked and run here."""

    target: str
    triple: str = ""  # of the cross compiler; empty for this machine
    qemu: str = ""  # the emulator, and its CPU
    cpu: str = ""
    without: tuple[str, ...] = ()  # rows of the table that the emulator cannot run

    def missing_tools(self) -> list[str]:
        tools = [f"{self.triple}-g++" if self.triple else "", self.qemu]
        return [tool for tool in tools if tool and shutil.which(tool) is None]

    def skip_where_tools_are_missing(self) -> None:
        if missing := self.missing_tools():
            pytest.skip(f"{', '.join(missing)} not installed; tools/install_packages does that")

    def runner(self) -> list[str]:
        """The command that runs run_programs on this machine."""
        program = str(cross_runner(self.triple) if self.triple else native_runner())
        emulator = [self.qemu, "-cpu", self.cpu] if self.qemu else []
        return [*emulator, *(["-L", f"/usr/{self.triple}"] if self.triple else []), program]


MACHINES = {
    "x86-64": Machine("llvm"),
    "x86-64-baseline": Machine("llvm -mcpu=x86-64"),
    "aarch64": Machine("llvm -mtriple=aarch64-linux-gnu", "aarch64-linux-gnu", "qemu-aarch64", "cortex-a53"),
    "aarch64-fp16": Machine(
        "llvm -mtriple=aarch64-linux-gnu -mattr=+fullfp16,+dotprod", "aarch64-linux-gnu", "qemu-aarch64", "max"
    ),
    "armv7-neon": Machine(
        "llvm -mtriple=armv7l-linux-gnueabihf -mattr=+neon", "arm-linux-gnueabihf", "qemu-arm", "cortex-a8"
    ),
    "armv7-no-neon": Machine(
        "llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon,-d32 -mfloat-abi=hard", "arm-linux-gnueabihf", "qemu-arm", "cortex-a9"
    ),
    "riscv64": Machine(
        "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c -mabi=lp64d",
        "riscv64-linux-gnu", "qemu-riscv64", "rv64,v=false",
    ),
    "riscv64-v": Machine(
        "llvm -mtriple=riscv64-linux-gnu -mattr=+v", "riscv64-linux-gnu", "qemu-riscv64", "rv64,v=true,vlen=128,vext_spec=v1.0",
        without=("truncate_", "integer_of_"),  # qemu 7.2 fails an assertion of its own at vfcvt.rtz under a mask
    ),
    "c": Machine("c"),
    "c-aarch64": Machine("c", "aarch64-linux-gnu", "qemu-aarch64", "cortex-a53"),
    "c-armv7": Machine("c", "arm-linux-gnueabihf", "qemu-arm", "cortex-a8"),
    "c-riscv64": Machine("c", "riscv64-linux-gnu", "qemu-riscv64", "rv64,v=false"),
}  # fmt: skip


@cache
def native_runner() -> Path:
    path = ROOT / "build" / "run_programs"
    assert path.exists(), "make build makes build/run_programs"
    return path


@cache
def cross_runner(triple: str) -> Path:
    """The runtime and run_programs for another machine, built where they are missing or old."""
    folder = ROOT / "build-runtime"
    folder.mkdir(exist_ok=True)
    command = ["make", "--no-print-directory", "runtime", f"TARGET={triple}", "PACKAGES=no"]
    with open(folder / f"{triple}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / triple / "run_programs"


@cache
def table() -> dict[str, Case]:
    return {case.name: case for case in cases()}


@cache
def lowered() -> tessera.IRModule:
    """All programs in one module: lowered once for all machines."""
    functions = {}
    for case in table().values():
        mod = tessera.lower(case.program, case.params, name=case.name)
        functions.update({var: mod[var] for var in mod.get_global_vars()})
    return tessera.IRModule(functions)


def dtype_numbers(dtype: str) -> str:
    t = tessera.DataType(dtype)
    return f"{t.type_code} {t.bits} {t.lanes}"


def describe(arg: tuple[str, object]) -> str:
    dtype, value = arg
    if isinstance(value, np.ndarray):
        return f"t {dtype_numbers(dtype)} {value.ndim} {' '.join(map(str, value.shape))}"
    return f"i {value}" if isinstance(value, int) else f"f {value}"


def run(machine: Machine, library: Path, chosen: list[Case], folder: Path) -> dict[str, list[np.ndarray]]:
    """Calls all programs in one process; gives the tensors of each after its call."""
    calls, data = folder / "calls", folder / "input"
    calls.write_text("".join(f"{c.name} {len(c.args)}\n" + "".join(describe(a) + "\n" for a in c.args) for c in chosen))
    tensors = [(d, v) for c in chosen for d, v in c.args if isinstance(v, np.ndarray)]
    data.write_bytes(b"".join(to_bytes(v, d) for d, v in tensors))
    command = [*machine.runner(), str(library), str(calls), str(data), str(folder / "output")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "TVM_NUM_THREADS": "3"}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    answers, left = {}, (folder / "output").read_bytes()
    for case in chosen:
        answers[case.name] = []
        for dtype, value in case.args:
            if isinstance(value, np.ndarray):
                size = len(to_bytes(value, dtype))
                answers[case.name].append(from_bytes(left[:size], dtype, value.shape))
                left = left[size:]
    return answers


def problem_of(case: Case, tensors: list[np.ndarray]) -> str:
    """What is wrong with the answers of a program; nothing when they are right."""
    dtypes = [dtype for dtype, value in case.args if isinstance(value, np.ndarray)]
    last = len(case.expected)
    for dtype, got, expected in zip(dtypes[-last:], tensors[-last:], case.expected):
        tolerance = TOLERANCE.get(dtype, 0) if case.tolerance is None else case.tolerance
        got, expected = (x.astype("float64") if dtype in TOLERANCE else x for x in (got, expected))
        try:
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance / 10)
        except AssertionError as error:
            return f"{case.name} ({dtype}): {error}"
    return ""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n.startswith("c-") else n for n in MACHINES]
)
def test_all_programs_agree_with_numpy_on(name, tmp_path):
    machine = MACHINES[name]
    machine.skip_where_tools_are_missing()
    library = tmp_path / "programs.so"
    module = tessera.build(lowered(), target=machine.target)
    module.export_library(str(library), cc.cross_compiler(f"{machine.triple}-g++") if machine.triple else None)
    chosen = [case for case in table().values() if not case.name.startswith(machine.without or "-")]
    answers = run(machine, library, chosen, tmp_path)
    problems = [problem for case in chosen if (problem := problem_of(case, answers[case.name]))]
    assert not problems, f"{len(problems)} of {len(chosen)} differ\n" + "\n".join(problems)


def test_the_table_has_fifty_programs_and_every_type():
    assert len(ROWS) >= 50
    assert {dtype for dtypes, _ in ROWS.values() for dtype in dtypes} == set(ALL)
    assert of_type(np.float32(1.001), "bfloat16") == 1
