"""Values that decide shapes may be anything: the answer is right or an error that names the operator."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
import run_time_shapes

models = functools.cache(lambda name: run_time_shapes.CASES[name].model())


@pytest.mark.parametrize("name", run_time_shapes.CASES)
def test_hostile_values_are_answered_or_rejected(name):
    assert not run_time_shapes.problems(run_time_shapes.CASES[name], draws=120, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", run_time_shapes.CASES)
def test_many_hostile_values_are_answered_or_rejected(name):
    assert not run_time_shapes.problems(run_time_shapes.CASES[name], draws=5000, seed=1)


@pytest.mark.parametrize("name", ["pad constant", "pad constant of a dynamic shape", "pad edge", "dyn.nn.pad constant"])
@pytest.mark.parametrize("before", [-(2**30), -(2**31) + 80, -(10**8), -(2**40)])
def test_data_far_from_what_is_kept_is_not_read(name, before):
    case = run_time_shapes.CASES[name]
    pads = [0, before, 0, 80 - before]
    given = {"width": np.array(pads).reshape(2, 2).T} if "width" in case.fine else {"pads": np.array(pads)}
    assert not run_time_shapes.problem(case, models(name), {**case.fine, **given})
