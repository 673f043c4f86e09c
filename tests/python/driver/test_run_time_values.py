"""Values that decide shapes may be anything: the answer is right or an error that names the operator."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
import run_time_shapes


@pytest.mark.parametrize("name", run_time_shapes.CASES)
def test_hostile_values_are_answered_or_refused(name):
    assert not run_time_shapes.problems(run_time_shapes.CASES[name], draws=120, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", run_time_shapes.CASES)
def test_many_hostile_values_are_answered_or_refused(name):
    assert not run_time_shapes.problems(run_time_shapes.CASES[name], draws=5000, seed=1)
