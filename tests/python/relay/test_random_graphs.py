"""Random graphs of operators give what NumPy gives, on every executor and however they are optimised."""

import os

import pytest
from random_graphs import generate, shrink, variants


def check_seed(seed):
    graph = generate(seed)
    for how in variants(graph):
        try:
            graph.check(**how)
        except Exception as error:
            pytest.fail(f"{error}\n{shrink(graph, **how)}")


@pytest.mark.parametrize("seed", range(150))
def test_a_random_graph(seed):
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_many_random_graphs(block):
    count = int(os.environ.get("TESSERA_RANDOM_GRAPHS", "10000"))
    first = 1000 + block * (count // 100)
    for seed in range(first, first + count // 100):
        check_seed(seed)
