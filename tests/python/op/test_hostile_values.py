"""Values at run time may be anything: no operator touches memory outside its tensors, hangs or ends the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from random_graphs import CASES, single

SCRIPT = Path(__file__).resolve().parents[1] / "checks" / "hostile_values.py"
BY_INDEX = sorted(name for name in CASES if any(node.is_index for node in single(name, 0).nodes))


def survive(seed, kind, names, least):
    """Runs the operators in a process of its own, between pages that may not be touched."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(seed), kind, *names],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    said = done.stdout.splitlines()
    assert done.returncode == 0, f"{said[-1] if said else 'the start'} ended the process:\n{done.stderr[-2000:]}"
    runs = int(said[-1].split()[0])
    assert runs >= least * len(names), said[-1]


def test_operators_that_read_indices_and_sizes_are_among_the_cases():
    wanted = """arange dyn.full dyn.iota dyn.one_hot dyn.reshape dyn.strided_slice dyn.tile dyn.topk gather gather_nd nn.nll_loss
        nn.sparse_dense one_hot reverse_sequence scatter scatter_add scatter_nd sequence_mask sparse_fill_empty_rows
        sparse_reshape sparse_to_dense strided_set take unravel_index vision.non_max_suppression vision.roi_align"""
    assert set(wanted.split()) <= set(BY_INDEX)


@pytest.mark.parametrize("part", range(2))
def test_indices_and_sizes_that_nobody_would_write(part):
    survive(1, "values", BY_INDEX[part::2], 4)


@pytest.mark.parametrize("part", range(2))
def test_inputs_that_do_not_fit_together(part):
    survive(11, "shapes", sorted(CASES)[part::2], 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_every_operator_on_hostile_values(seed):
    survive(seed, "values", sorted(CASES), 4)
    survive(seed, "shapes", sorted(CASES), 3)
