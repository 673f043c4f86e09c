"""The graph executor that launches a whole graph as one CUDA graph: not there yet, and said so."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import graph_executor

__all__ = ["GraphModuleCudaGraph", "create"]


def create(graph_json_str: str, libmod: Any, device: Any) -> NoReturn:
    """Always an error."""
    raise _missing()


class GraphModuleCudaGraph(graph_executor.GraphModule):
    """A graph captured once and launched many times."""

    def __init__(self, module: Any):
        raise _missing()


def _missing() -> NotImplementedError:
    return NotImplementedError(
        "running a graph as one CUDA graph is not there yet; contrib.graph_executor runs it kernel by kernel"
    )
