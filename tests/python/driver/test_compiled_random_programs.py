"""Random tensor programs with random schedules, lowered and compiled, give NumPy's answers."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm

sys.path.insert(0, str(Path(__file__).parents[1] / "te"))
from random_programs import Program

BATCH = 20
DATA_PARALLEL = 0

#: What a schedule may ask of a loop only when its extent is a constant.
REJECTED = ("Failed to vectorize loop", "cannot unroll loop")


def mark_loops(schedule, rng):
    """Vectorizes innermost and parallelizes outermost loops here and there."""
    for stage in schedule.stages:
        leaves = list(stage.leaf_iter_vars)
        if not leaves:
            continue
        if leaves[-1].iter_type == DATA_PARALLEL and rng.random() < 0.5:
            stage.vectorize(leaves[-1])
        elif leaves[0].iter_type == DATA_PARALLEL and stage.is_output and rng.random() < 0.5:
            stage.parallel(leaves[0])


def check(seed):
    program = Program(seed)
    env = program.env
    try:
        mark_loops(env["s"], random.Random(seed))
        config = {}
        if seed % 3 == 0:
            config["tir.LoopPartition"] = {"partition_const_loop": True}
        if seed % 5 == 0:
            config["tir.UnrollLoop"] = {"auto_max_step": 32}
        with tvm.transform.PassContext(config=config):
            compiled = tvm.build(env["s"], env["args"], "llvm")
        results = [np.full(want.shape, -77, "int32") for want in env["want"]]
        tensors = [tvm.nd.array(array) for array in [*env["given"], *results]]
        compiled(*tensors)
        for want, got in zip(env["want"], tensors[len(env["given"]) :]):
            np.testing.assert_array_equal(got.numpy(), want)
    except Exception as error:
        if any(text in str(error) for text in REJECTED):
            return
        raise AssertionError(f"seed {seed}: {error}\n\nreproduce with:\n{program.text}") from error


@pytest.mark.parametrize("first", range(0, 100, BATCH))
def test_compiled_programs_give_numpys_answers(first):
    for seed in range(first, first + BATCH):
        check(seed)


def test_what_is_known_of_a_loop_is_not_said_of_its_copy():
    check(1647)  # the loop inside has one iteration in the middle part of a cut loop, and two in the rest


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 12_000, 200))
def test_thousands_of_compiled_programs_give_numpys_answers(first):
    for seed in range(first, first + 200):
        check(seed)
