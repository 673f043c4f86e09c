"""Random graphs give what NumPy gives also where the extents of their inputs are known only at run time."""

import os
import re

import pytest
from random_graphs import NEEDS_EXTENTS, compare, function_with_dynamic_extents, generate, run


def check_seed(seed):
    graph = generate(seed, without=NEEDS_EXTENTS)
    results = graph.results()
    if not results:
        return
    # Without axes, squeeze drops the extents that are written as 1; one that is dynamic stays.
    if re.search(r"squeeze\(%\w+\)", str(graph.function(results)[0])):
        return
    for share, opt_level in ((1.0, 3), (0.5, 0)):
        function, inputs = function_with_dynamic_extents(graph, results, share)
        for i, got in zip(results, run(function, inputs, executor="vm", opt_level=opt_level)):
            compare(got, graph.nodes[i].value, graph.nodes[i].slack)


@pytest.mark.parametrize("seed", range(40))
def test_a_random_graph_with_dynamic_extents(seed):
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_graphs_with_dynamic_extents(block):
    count = int(os.environ.get("TESSERA_RANDOM_GRAPHS", "1000"))
    first = 1000 + block * (count // 20)
    for seed in range(first, first + count // 20):
        check_seed(seed)
