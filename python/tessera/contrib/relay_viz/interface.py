"""What a drawing is made of: nodes and edges, parsers that find them, and plotters that draw them."""

from __future__ import annotations

import abc
from typing import Any

from ... import relay
from ...ir import GlobalVar, Op

__all__ = ["DefaultVizParser", "Plotter", "VizEdge", "VizGraph", "VizNode", "VizParser"]

UNKNOWN_TYPE = "unknown"


class VizNode:
    """A node of a drawing."""

    def __init__(self, node_id: str, node_type: str, node_detail: str):
        self._id, self._type, self._detail = node_id, node_type, node_detail

    @property
    def identity(self) -> str:
        """Its name, by which edges know it."""
        return self._id

    @property
    def type_name(self) -> str:
        """What it is."""
        return self._type

    @property
    def detail(self) -> str:
        """More of it, in lines."""
        return self._detail

    def __repr__(self) -> str:
        detail = self._detail.replace("\n", ", ")
        return f"VizNode(identity: {self._id}, type_name: {self._type}, detail: {detail}"


class VizEdge:
    """An edge from one node to another."""

    def __init__(self, start_node: str, end_node: str):
        self._start, self._end = start_node, end_node

    @property
    def start(self) -> str:
        """Where it comes from."""
        return self._start

    @property
    def end(self) -> str:
        """Where it leads."""
        return self._end


class VizParser(abc.ABC):
    """From expressions to nodes and edges."""

    @abc.abstractmethod
    def get_node_edges(
        self, node: Any, relay_param: dict[str, Any], node_to_id: dict[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of an expression, or None where it is not drawn, and the edges to it."""


class VizGraph(abc.ABC):
    """One drawing."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Adds a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""


class Plotter(abc.ABC):
    """Makes drawings and shows them."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """A new drawing."""

    @abc.abstractmethod
    def render(self, filename: Any) -> None:
        """Shows all drawings."""


class DefaultVizParser(VizParser):
    """A node for each expression but operators and global names; edges follow the data."""

    def get_node_edges(
        self, node: Any, relay_param: dict[str, Any], node_to_id: dict[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """See `VizParser`."""
        if isinstance(node, (Op, GlobalVar)):
            return None, []
        kind, detail, inputs = self._describe(node, relay_param)
        name = node_to_id[node]
        edges = [VizEdge(node_to_id[part], name) for part in inputs if part in node_to_id]
        return VizNode(name, kind, detail), edges

    @staticmethod
    def _describe(node: Any, params: dict[str, Any]) -> tuple[str, str, list[Any]]:
        if isinstance(node, relay.Var):
            where = "Param" if node.name_hint in params else "Input"
            kind = node.type_annotation
            shape = f"\nshape: {kind.concrete_shape}\ndtype: {kind.dtype}" if _is_static(kind) else ""
            return f"Var({where})", f"name_hint: {node.name_hint}{shape}", []
        if isinstance(node, relay.Constant):
            detail = f"shape: {tuple(node.data.shape)}, dtype: {node.data.dtype}"
            return "Const", detail, []
        if isinstance(node, relay.Function):
            name = f"Func {node.attrs['Composite']}" if node.attrs and "Composite" in node.attrs else "Func"
            return name, "", [node.body]
        if isinstance(node, relay.Call):
            attrs = node.attrs
            keys = attrs.keys() if attrs is not None and hasattr(attrs, "keys") else []
            lines = [f"{key}: {attrs[key]}" for key in keys]
            if isinstance(node.op, Op):
                return f"Call {node.op.name}", "\n".join(lines), list(node.args)
            name = node.op.name_hint if isinstance(node.op, GlobalVar) else "function"
            return f"Call {name}", "\n".join(lines), [node.op, *node.args]
        if isinstance(node, relay.Tuple):
            return "Tuple", "", list(node.fields)
        if isinstance(node, relay.TupleGetItem):
            return "TupleGetItem", f"idx: {node.index}", [node.tuple_value]
        if isinstance(node, relay.Let):
            return "Let", "", [node.value, node.body]
        if isinstance(node, relay.If):
            return "If", "", [node.cond, node.true_branch, node.false_branch]
        return UNKNOWN_TYPE, type(node).__name__, []


def _is_static(kind: Any) -> bool:
    try:
        return all(int(extent) >= 0 for extent in kind.shape)
    except (AttributeError, TypeError, ValueError):
        return False
