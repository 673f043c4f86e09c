"""Drawings as text: each function is a tree, from its result to its inputs."""

from __future__ import annotations

from typing import Any

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode, VizParser

__all__ = ["TermGraph", "TermNode", "TermPlotter", "TermVizParser"]


class TermVizParser(VizParser):
    """The default parser, its details on one line."""

    def __init__(self) -> None:
        self._default = DefaultVizParser()

    def get_node_edges(
        self, node: Any, relay_param: dict[str, Any], node_to_id: dict[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """See `VizParser`."""
        found, edges = self._default.get_node_edges(node, relay_param, node_to_id)
        if found is None:
            return None, edges
        detail = found.detail.replace("\n", ", ")
        return VizNode(found.identity, found.type_name, f"({detail})" if detail else ""), edges


class TermNode:
    """A node of the tree, and the nodes it reads."""

    def __init__(self, viz_node: VizNode):
        self.type = viz_node.type_name
        self.other_info = viz_node.detail
        self.children: list[TermNode] = []
        self.seen = False

    def add_child(self, child: TermNode) -> None:
        """Adds what it reads."""
        self.children.append(child)


class TermGraph(VizGraph):
    """One function as a tree."""

    def __init__(self, name: str):
        self._name = name
        self._nodes: dict[str, TermNode] = {}
        self._order: list[TermNode] = []

    def node(self, viz_node: VizNode) -> None:
        """Adds a node; the last one is the root."""
        self._nodes[viz_node.identity] = TermNode(viz_node)
        self._order.append(self._nodes[viz_node.identity])

    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge between nodes that are drawn."""
        if viz_edge.start in self._nodes and viz_edge.end in self._nodes:
            self._nodes[viz_edge.end].add_child(self._nodes[viz_edge.start])

    def render(self) -> str:
        """The text. What stands twice is written out the first time."""
        lines = [f"@{self._name}"]
        seen: set[int] = set()

        def write(node: TermNode, prefix: str, is_last: bool) -> None:
            known = id(node) in seen and bool(node.children)
            seen.add(id(node))
            text = f"{node.type} {node.other_info}".strip()
            lines.append(f"{prefix}`--{text}{' (see above)' if known else ''}")
            if not known:
                for i, child in enumerate(node.children):
                    write(child, prefix + ("   " if is_last else "|  "), i == len(node.children) - 1)

        if self._order:
            write(self._order[-1], "", True)
        return "\n".join(lines) + "\n"


class TermPlotter(Plotter):
    """Prints the trees, or writes them into a file."""

    def __init__(self) -> None:
        self._graphs: list[TermGraph] = []

    def create_graph(self, name: str) -> TermGraph:
        """The tree of a function."""
        self._graphs.append(TermGraph(name))
        return self._graphs[-1]

    def render(self, filename: Any = None) -> None:
        """Prints all trees; with a file's name they go there."""
        text = "\n".join(graph.render() for graph in self._graphs)
        if filename:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            print(text, end="")
