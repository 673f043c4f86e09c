"""Random graphs give what NumPy gives also where the extents of their inputs are known only at run time."""

import os
import random
import re

import pytest
from random_graphs import Graph, compare, generate, run
from tessera import relay


def function_with_open_extents(graph, results, share):
    """The function of a graph with Any for a share of its inputs' extents."""
    rng = random.Random(graph.seed)

    def variable(name, value):
        def open_type(part):
            extents = [relay.Any() if rng.random() < share else extent for extent in part.shape]
            return relay.TensorType(extents, str(part.dtype))

        parts = value if isinstance(value, list) else [value]
        types = [open_type(part) for part in parts]
        return relay.var(name, relay.TupleType(types) if isinstance(value, list) else types[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "_variable", staticmethod(variable))
        return graph.function(results)


def check_seed(seed):
    graph = generate(seed)
    results = graph.results()
    if not results:
        return
    # Without axes, squeeze drops the extents that are written as 1; one that is dynamic stays.
    if re.search(r"squeeze\(%\w+\)", str(graph.function(results)[0])):
        return
    for share, opt_level in ((1.0, 3), (0.5, 0)):
        function, inputs = function_with_open_extents(graph, results, share)
        for i, got in zip(results, run(function, inputs, executor="vm", opt_level=opt_level)):
            compare(got, graph.nodes[i].value)


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
