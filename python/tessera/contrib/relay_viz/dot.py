"""Drawings in the language of Graphviz."""

from __future__ import annotations

from typing import Any, Callable

from .._dot import Digraph
from .interface import Plotter, VizEdge, VizGraph, VizNode

__all__ = ["DotGraph", "DotPlotter"]


class DotGraph(VizGraph):
    """One function."""

    def __init__(
        self,
        name: str,
        graph_attr: dict[str, str] | None = None,
        node_attr: dict[str, str] | None = None,
        edge_attr: dict[str, str] | None = None,
        get_node_attr: Callable[[VizNode], dict[str, str]] | None = None,
    ):
        self._name = name
        self._get_node_attr = get_node_attr or self._default_node_attr
        self._digraph = Digraph(name, graph_attr, {"shape": "box", **(node_attr or {})}, edge_attr)

    @staticmethod
    def _default_node_attr(node: VizNode) -> dict[str, str]:
        del node
        return {}

    def node(self, viz_node: VizNode) -> None:
        """Adds a node, its type and details in lines."""
        label = f"{viz_node.type_name}\n{viz_node.detail}".strip()
        self._digraph.node(viz_node.identity, label, **self._get_node_attr(viz_node))

    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""
        self._digraph.edge(viz_edge.start, viz_edge.end)

    @property
    def digraph(self) -> Digraph:
        """The graph; its `source` is the text."""
        return self._digraph


class DotPlotter(Plotter):
    """Writes a file for each function: `<filename>_<function>.gv`, and its image where Graphviz is installed."""

    def __init__(
        self,
        graph_attr: dict[str, str] | None = None,
        node_attr: dict[str, str] | None = None,
        edge_attr: dict[str, str] | None = None,
        get_node_attr: Callable[[VizNode], dict[str, str]] | None = None,
        render_kwargs: dict[str, Any] | None = None,
    ):
        self._attributes = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._render_kwargs = dict(render_kwargs or {})
        self._graphs: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        """The drawing of a function."""
        self._graphs[name] = DotGraph(name, *self._attributes)
        return self._graphs[name]

    def render(self, filename: str | None = None) -> None:
        """Writes all drawings."""
        for name, graph in self._graphs.items():
            graph.digraph.render(**{"filename": f"{filename}_{name}" if filename else name, **self._render_kwargs})
