"""Random sequences of primitives keep what a program computes; see random_schedules.py."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def run(first, count, tmp_path):
    note = tmp_path / "case.py"
    command = [sys.executable, str(HERE / "random_schedules.py"), str(first), str(count), "--note", str(note)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    crashed = f"\ncrashed while running\n{note.read_text()}" if done.returncode not in (0, 1) and note.exists() else ""
    assert done.returncode == 0, done.stdout + done.stderr + crashed
    assert f"{count} schedules" in done.stdout


def test_random_schedules_compute_the_same(tmp_path):
    run(0, 250, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 11000, 1000))
def test_many_random_schedules_compute_the_same(first, tmp_path):
    run(first, 1000, tmp_path)
