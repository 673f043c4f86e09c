"""The name `graph_executor` had before it was called so."""

from __future__ import annotations

import warnings
from typing import Any

from . import graph_executor

__all__ = ["GraphModule", "create"]


def create(*args: Any, **kwargs: Any) -> graph_executor.GraphModule:
    """`graph_executor.create`."""
    _warn("create")
    return graph_executor.create(*args, **kwargs)


class GraphModule(graph_executor.GraphModule):
    """`graph_executor.GraphModule`."""

    def __init__(self, module: Any):
        _warn("GraphModule")
        super().__init__(module)


def _warn(name: str) -> None:
    warnings.warn(
        f"contrib.graph_runtime is the old name of contrib.graph_executor; use graph_executor.{name}",
        DeprecationWarning,
        stacklevel=3,
    )
