"""Graphs in the language of Graphviz (dot)."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

__all__ = ["Digraph"]


def _quoted(text: str) -> str:
    """A name or a label; <...> is HTML and stays."""
    if text.startswith("<") and text.endswith(">"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _attributes(values: dict[str, Any]) -> str:
    inner = " ".join(f"{name}={_quoted(str(value))}" for name, value in values.items())
    return f" [{inner}]" if inner else ""


class Digraph:
    """A directed graph; `source` is its text."""

    def __init__(self, name: str = "", graph_attr: Any = None, node_attr: Any = None, edge_attr: Any = None):
        self.name = name
        self._defaults = {"graph": dict(graph_attr or {}), "node": dict(node_attr or {}), "edge": dict(edge_attr or {})}
        self._lines: list[str] = []

    def node(self, name: str, label: str | None = None, **attributes: Any) -> None:
        """Adds a node."""
        values = {**({"label": label} if label is not None else {}), **attributes}
        self._lines.append(f"{_quoted(name)}{_attributes(values)}")

    def edge(self, tail: str, head: str, **attributes: Any) -> None:
        """Adds an edge; "node:port" names a port of a node."""

        def end(text: str) -> str:
            node, colon, port = text.partition(":")
            return f"{_quoted(node)}:{port}" if colon else _quoted(node)

        self._lines.append(f"{end(tail)} -> {end(head)}{_attributes(attributes)}")

    def subgraph(self, graph: Digraph) -> None:
        """Adds a graph inside this one; one whose name begins with "cluster" is framed."""
        self._lines += [f"subgraph {_quoted(graph.name)} {{", *("  " + line for line in graph._body()), "}"]

    def _body(self) -> list[str]:
        defaults = [f"{kind}{_attributes(values)}" for kind, values in self._defaults.items() if values]
        return [*defaults, *self._lines]

    @property
    def source(self) -> str:
        """The text."""
        name = f" {_quoted(self.name)}" if self.name else ""
        return "\n".join([f"digraph{name} {{", *("  " + line for line in self._body()), "}"]) + "\n"

    def render(self, filename: str, format: str = "pdf", **_: Any) -> str:
        """Writes `<filename>.gv`, and an image of it where Graphviz is installed; gives the path of the last."""
        path = filename if filename.endswith((".gv", ".dot")) else f"{filename}.gv"
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)
        program = shutil.which("dot")
        if program is None:
            return os.path.abspath(path)
        subprocess.run([program, f"-T{format}", path, "-o", f"{path}.{format}"], check=True)
        return os.path.abspath(f"{path}.{format}")
