"""Gradients of random graphs agree at every level, and with slopes in NumPy."""

import os

import pytest
from gradient_graphs import check_gradient
from random_graphs import generate


def check_block(seeds, least):
    checked = 0
    for seed in seeds:
        try:
            checked += check_gradient(generate(seed, 4))
        except Exception as error:
            pytest.fail(f"seed {seed}: {error}")
    assert checked >= least * len(seeds)


@pytest.mark.parametrize("block", range(2))
def test_gradients_of_random_graphs(block):
    check_block(range(5 * block, 5 * block + 5), 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_gradients_of_many_random_graphs(block):
    count = int(os.environ.get("TESSERA_RANDOM_GRAPHS", "1000")) // 20
    check_block(range(1000 + block * count, 1000 + (block + 1) * count), 0.3)
