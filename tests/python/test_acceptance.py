"""Scripts written for TVM v0.10 run unchanged through tessera.as_tvm."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "acceptance"
MODELS = pathlib.Path(__file__).parents[2] / "examples" / "digits"
TAKES_A_MODEL = {"12_tvmc"}  # see below
PROGRAMS = sorted(program for program in FOLDER.glob("*.py") if program.stem not in TAKES_A_MODEL)


def run(*words):
    command = [sys.executable, "-m", "tessera.as_tvm", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program_ends_with_ok(program):
    done = run(program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "ok", done.stdout


@pytest.mark.parametrize("shape", [[], ["image=4,1,8,8"]])
def test_the_driver_tunes_compiles_and_runs(shape):
    done = run(FOLDER / "12_tvmc.py", MODELS / "digits.onnx", *shape)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "ok", done.stdout
