"""Random tensor programs with random legal schedules give NumPy's answers, and stay inside the realised boxes."""

import pytest
from random_programs import Program, run, run_blocks, run_compiled

BATCH = 50


@pytest.mark.parametrize("first", range(0, 400, BATCH))
def test_random_programs_give_numpys_answers(first):
    for seed in range(first, first + BATCH):
        run(Program(seed))


@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_random_programs_with_threads_give_numpys_answers(first):
    for seed in range(first, first + BATCH):
        run(Program(seed, threads=True))


@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_functions_of_blocks_give_numpys_answers(first):
    for seed in range(first, first + BATCH):
        run_blocks(Program(seed))


@pytest.mark.parametrize("first", range(0, 300, BATCH))
def test_compiled_random_programs_give_numpys_answers(first):
    for seed in range(first, first + BATCH):
        run_compiled(Program(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 500))
def test_thousands_of_random_programs_give_numpys_answers(first):
    for seed in range(first, first + 500):
        run(Program(seed))
        run(Program(seed, threads=True))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 200))
def test_thousands_of_compiled_random_programs_give_numpys_answers(first):
    for seed in range(first, first + 200):
        run_compiled(Program(seed))
