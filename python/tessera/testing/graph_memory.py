"""How much memory a graph's plan takes, and how much of it any plan would need."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

__all__ = ["GraphMemory", "graph_memory"]


class GraphMemory(NamedTuple):
    """Bytes of all storages that hold values of nodes, and the most bytes of such values that are alive at one node.

    Inputs and parameters are left out. A node whose result overwrites what it reads (the storage is the same) has
    one of the two alive.
    """

    planned: int
    live: int


def graph_memory(graph_json: str) -> GraphMemory:
    """The memory of a graph in the JSON form of the graph executor."""
    graph = json.loads(graph_json)
    nodes, first = graph["nodes"], graph["node_row_ptr"]
    shapes, dtypes, storages = (graph["attrs"][part][1] for part in ("shape", "dltype", "storage_id"))

    def bytes_of(entry: int) -> int:
        return int(np.prod(shapes[entry], dtype="int64")) * np.dtype(dtypes[entry]).itemsize

    kept = {storages[first[node]] for node in graph["arg_nodes"]}
    sizes: dict[int, int] = {}
    for entry, storage in enumerate(storages):
        if storage not in kept:
            sizes[storage] = max(sizes.get(storage, 0), bytes_of(entry))

    # The value that a storage holds is alive from the node that makes it to its last consumer.
    last_use = [n for n in range(len(nodes)) for _ in range(first[n], first[n + 1])]
    for n, node in enumerate(nodes):
        for source, index, *_ in node["inputs"]:
            last_use[first[source] + index] = n
    for source, index, *_ in graph["heads"]:
        last_use[first[source] + index] = len(nodes)
    alive: dict[int, tuple[int, int]] = {}  # storage -> bytes and last use of what it holds
    live = 0
    for n in range(len(nodes)):
        alive = {storage: value for storage, value in alive.items() if value[1] >= n}
        for entry in range(first[n], first[n + 1]):
            if storages[entry] not in kept:
                before = alive.get(storages[entry], (0, 0))
                alive[storages[entry]] = (max(bytes_of(entry), before[0]), max(last_use[entry], before[1]))
        live = max(live, sum(size for size, _ in alive.values()))
    return GraphMemory(sum(sizes.values()), live)
