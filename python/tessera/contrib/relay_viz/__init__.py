"""Relay modules as drawings."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...relay.analysis import post_order_visit
from .dot import DotPlotter
from .interface import DefaultVizParser, Plotter, VizParser
from .terminal import TermPlotter, TermVizParser

__all__ = ["DotPlotter", "RelayVisualizer", "TermPlotter"]

_PARSERS = {DotPlotter: DefaultVizParser, TermPlotter: TermVizParser}


class RelayVisualizer:
    """Reads a module by a parser and draws each of its functions by a plotter; both may be those of the terminal."""

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Any = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ):
        self._plotter = plotter if plotter is not None else TermPlotter()
        self._relay_param = dict(relay_param or {})
        self._parser = parser if parser is not None else _PARSERS.get(type(self._plotter), DefaultVizParser)()
        names = sorted((var.name_hint for var in relay_mod.get_global_vars()), key=lambda name: (name != "main", name))
        for name in names:
            self._add(name, relay_mod[name])

    def _add(self, name: str, function: Any) -> None:
        graph = self._plotter.create_graph(name)
        order: list[Any] = []
        post_order_visit(function, order.append)
        node_to_id = {node: str(i) for i, node in enumerate(order)}
        for node in order:
            viz_node, edges = self._parser.get_node_edges(node, self._relay_param, node_to_id)
            if viz_node is not None:
                graph.node(viz_node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Draws, into files of that name or as the plotter does without."""
        self._plotter.render(filename=filename)
