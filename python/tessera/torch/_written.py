"""Graphs of functional ATen operators as Relay modules."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .._ffi.registry import get_global_func
from ..ir.module import IRModule
from ..relay.frontend._torch.fx import FxReader, bind_symbols, shape_of_value
from ..relay.frontend._torch.graph import GraphWriter, literal
from ..relay.frontend._torch.strides import dense_order, inverse
from ..relay.frontend.pytorch import import_written


def written_graph(
    graph: torch.fx.GraphModule,
    weights: Mapping[str, torch.Tensor],
    results: Sequence[torch.fx.Node],
    writer: GraphWriter,
) -> tuple[dict[str, Any], list[str]]:
    """The graph with `weights` for the placeholders of these names and `results` for outputs, and the names of its inputs.

    Tensors whose dimensions lie in another order, such as channels last, are inputs and outputs in the order of their memory:
    they are passed without a copy.
    """
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    bound: dict[str, Any] = {}
    extra: list[dict[str, Any]] = []
    numbers, tensors, inputs = [], [], []
    for node in placeholders:
        value = node.meta["val"]
        if node.name in weights:
            bound[node.name] = writer.weight(weights[node.name], node.name)
        elif isinstance(value, torch.Tensor):
            inputs.append(node.name)
            tensors.append(node)
            _write_input(node, value, writer, bound, extra)
        elif isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            numbers.append(node)
        else:
            bound[node.name] = literal(value)
    used = [node for node in numbers if node.users]
    for node in used:
        if is_extent(node, tensors):
            extra += bind_symbols([node], tensors)
        else:
            inputs.append(node.name)
            writer.input(f"{node.name}.given", node.name, [], number_dtype(node.meta["val"]))
            extra.append(_call("aten::item", [["self", {"name": f"{node.name}.given"}]], node.name))
    known = {**bound, **{node.name: {"name": node.name} for node in numbers}}
    body = FxReader(graph, writer).graph(graph, known, extra)
    body["inputs"] = [each["name"] for each in writer.inputs]
    body["outputs"] = [_written_result(node, body["nodes"]) for node in results]
    return writer.finished(body), inputs


def import_graph(
    graph: torch.fx.GraphModule, weights: Mapping[str, torch.Tensor], results: Sequence[torch.fx.Node]
) -> tuple[IRModule, dict[str, Any], list[str]]:
    """A module, its parameters, and the names of the placeholders that are its inputs."""
    writer = GraphWriter()
    program, inputs = written_graph(graph, weights, results, writer)
    mod, params = import_written(program, writer, None, "float32")
    return mod, params, inputs


def unsupported_nodes(graph: torch.fx.GraphModule, weights: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Names of nodes that cannot be imported, with the reasons."""
    writer = GraphWriter()
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    results = [node for node in output.all_input_nodes if node.op != "placeholder"]
    program, _ = written_graph(graph, weights, results, writer)
    rows = get_global_func("frontend.torch.unsupported_nodes")(json.dumps(program), writer.weights)
    return {str(node): f"{op}: {reason}" for node, op, reason in rows}


def is_extent(node: torch.fx.Node, tensors: Sequence[torch.fx.Node]) -> bool:
    """True where a symbolic number is an extent of one of the tensors."""
    symbol = str(node.meta["val"])
    return any(symbol in shape_of_value(tensor.meta["val"])[0] for tensor in tensors)


def number_dtype(value: Any) -> str:
    """The element type that a symbolic number is passed as."""
    if isinstance(value, torch.SymBool):
        return "bool"
    return "float64" if isinstance(value, torch.SymFloat) else "int64"


def _write_input(
    node: torch.fx.Node, value: torch.Tensor, writer: GraphWriter, bound: dict[str, Any], extra: list[dict[str, Any]]
) -> None:
    shape, dtype = shape_of_value(value)
    order = dense_order(value.shape, value.stride())
    if order is None or order == list(range(len(shape))):
        writer.input(node.name, node.name, shape, dtype)
        return
    given = f"{node.name}.given"
    writer.input(given, node.name, [shape[dim] for dim in order], dtype)
    extra.append(_call("aten::permute", [["self", {"name": given}], ["dims", inverse(order)]], f"{node.name}.view"))
    bound[node.name] = {"name": f"{node.name}.view"}


def _written_result(node: torch.fx.Node, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """A result in the order of its memory. What an operator does not give (a second result for gradients) is its fault."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return {"name": node.name}
    order = dense_order(value.shape, value.stride())
    name, args = f"{node.name}.result", [["self", {"name": node.name}]]
    whole = order is None or order == list(range(len(order)))
    call = _call("aten::alias", args, name) if whole else _call("aten::permute", [*args, ["dims", order]], name)
    maker = node.args[0] if node.target is operator.getitem else node
    nodes.append({**call, "label": str(maker)})
    return {"name": name}


def _call(op: str, args: list[list[Any]], result: str) -> dict[str, Any]:
    return {"op": op, "args": args, "results": [result], "label": result}
