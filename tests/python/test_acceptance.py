"""Scripts written for TVM v0.10 run unchanged through tessera.as_tvm."""

import pathlib
import subprocess
import sys

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parents[1] / "acceptance").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program_ends_with_ok(program):
    done = subprocess.run(
        [sys.executable, "-m", "tessera.as_tvm", str(program)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "ok", done.stdout
