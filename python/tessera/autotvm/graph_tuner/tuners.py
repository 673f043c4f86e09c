"""How records are chosen: by dynamic programming along the graph, or by local search from several beginnings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base_graph_tuner import BaseGraphTuner

__all__ = ["DPTuner", "PBQPTuner"]


def _improved(tuner: BaseGraphTuner, choices: list[int]) -> list[int]:
    """Nodes take what is best for them and their neighbours, until nothing changes."""
    consumers: list[list[int]] = [[] for _ in tuner.nodes]
    for at, node in enumerate(tuner.nodes):
        for source in node.inputs:
            consumers[source].append(at)

    def cost(at: int, choice: int) -> float:
        node = tuner.nodes[at]
        before = sum(tuner.edge_seconds(source, choices[source], at, choice) for source in node.inputs)
        return node.seconds(choice) + before + sum(tuner.edge_seconds(at, choice, c, choices[c]) for c in consumers[at])

    for _ in range(len(tuner.nodes) + 1):
        before = list(choices)
        for at, node in enumerate(tuner.nodes):
            choices[at] = min(range(len(node.records)), key=lambda choice: (cost(at, choice), choice))
        if choices == before:
            break
    return choices


class DPTuner(BaseGraphTuner):
    """Dynamic programming: exact for chains and trees. Where a node reads several, the first counts, and the others are looked at
    afterwards."""

    def run(self, **kwargs: Any) -> None:
        """Chooses a record for each node."""
        del kwargs
        # best[at][choice]: the least seconds of all that hangs below `at`, consumers first
        children: list[list[int]] = [[] for _ in self.nodes]
        for at, node in enumerate(self.nodes):
            if node.inputs:
                children[node.inputs[0]].append(at)
        best: list[Any] = [None] * len(self.nodes)
        taken: list[dict[int, list[int]]] = [{} for _ in self.nodes]
        for at in reversed(range(len(self.nodes))):
            costs = [self.nodes[at].seconds(choice) for choice in range(len(self.nodes[at].records))]
            for child in children[at]:
                taken[child][at] = []
                for choice in range(len(costs)):
                    ways = [self.edge_seconds(at, choice, child, c) + below for c, below in enumerate(best[child])]
                    taken[child][at].append(int(np.argmin(ways)))
                    costs[choice] += min(ways)
            best[at] = costs
        choices = [0] * len(self.nodes)
        for at, node in enumerate(self.nodes):
            if node.inputs:
                parent = node.inputs[0]
                choices[at] = taken[at][parent][choices[parent]]
            else:
                choices[at] = int(np.argmin(best[at]))
        self.choices = min(choices, _improved(self, list(choices)), key=self.total_seconds)


class PBQPTuner(BaseGraphTuner):
    """Local search from the fastest records and from random ones: near the best where nodes read many others."""

    _BEGINNINGS = 16

    def run(self, **kwargs: Any) -> None:
        """Chooses a record for each node."""
        del kwargs
        rng = np.random.default_rng(0)
        starts = [[0] * len(self.nodes)]
        starts += [[int(rng.integers(len(node.records))) for node in self.nodes] for _ in range(self._BEGINNINGS)]
        self.choices = min((_improved(self, start) for start in starts), key=self.total_seconds)
