"""Graphs of functions of TensorFlow 2 as Relay; see src/frontend/tensorflow."""

from __future__ import annotations

from typing import Any

from ...ir.module import IRModule
from .tensorflow import import_graph

__all__ = ["from_tensorflow"]


def from_tensorflow(
    graph_def: Any, layout: str = "NHWC", shape: dict[str, Any] | None = None, outputs: list[str] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from the graph of a frozen concrete function, or from a SavedModel's folder.

    Functions that the graph calls, its loops and branches and its tensor lists are imported with it.
    """
    return import_graph(graph_def, layout, shape, outputs)
