"""Which nodes of a graph are compiled: all of them, or the parts between those that PyTorch keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._ffi.registry import get_global_func
from ..relay.frontend._torch.graph import SCALAR_TYPES
from ._fallback import warn_of
from ._program import Program
from ._written import unsupported_nodes

_has_converter = get_global_func("frontend.torch.has_converter")

#: Parts with fewer operators are not worth a call.
_MIN_NODES = 3


class Compiler:
    """A graph as a function of its placeholders. What is compiled is decided in its first call, which has the weights."""

    def __init__(self, graph: torch.fx.GraphModule, static: set[int], options: Any) -> None:
        self._graph = graph
        self._options = options
        self._placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self._weights = {node.name for i, node in enumerate(self._placeholders) if i in static}
        self._chosen: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        if self._chosen is None:
            with self._lock, torch.no_grad():
                self._chosen = self._chosen or self._choose(args)
        return self._chosen(*args)

    def _choose(self, args: Sequence[Any]) -> Callable[..., Any]:
        calls = [node for node in self._graph.graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
        rejected = {node: reason for node in calls if (reason := _reason_against(node))}
        if not rejected:
            named = {node.name: value for node, value in zip(self._placeholders, args) if node.name in self._weights}
            try:
                reasons = unsupported_nodes(self._graph, named)
            except NotImplementedError as error:
                warn_of("a graph", [str(error)])
                return self._graph.forward
            rejected = {node: reasons[node.name] for node in calls if node.name in reasons}
        if not rejected:
            return Program(self._graph, self._weights, self._options)
        warn_of("a part of the model", rejected.values())
        return self._in_parts(set(rejected))

    def _in_parts(self, rejected: set[torch.fx.Node]) -> Callable[..., Any]:
        """The graph with programs of ours in place of its supported parts."""
        partitioner = CapabilityBasedPartitioner(self._graph, _Supported(rejected), allows_single_node_partition=True)
        parts = [part for part in partitioner.propose_partitions() if len(part.nodes) >= _MIN_NODES]
        fused = partitioner.fuse_partitions(parts, prefix="compiled_")
        for node in fused.graph.nodes:
            if node.op != "call_module" or not str(node.target).startswith("compiled_"):
                continue
            part = fused.get_submodule(str(node.target))
            takes = [each.name for each in part.graph.nodes if each.op == "placeholder"]
            given = [each.name if isinstance(each, torch.fx.Node) else "" for each in node.args]
            own = {name for name, outer in zip(takes, given) if outer in self._weights}
            fused.set_submodule(str(node.target), _Part(Program(part, own, self._options)))
        fused.recompile()
        return fused.forward


class _Part(torch.nn.Module):
    """A program as a module, which graphs can call."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, *args: Any) -> Any:
        return self.program(*args)


class _Supported(OperatorSupportBase):
    def __init__(self, rejected: set[torch.fx.Node]) -> None:
        self.rejected = rejected

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return node.op == "call_function" and node not in self.rejected


def _reason_against(node: torch.fx.Node) -> str:
    """Why a node is PyTorch's, from what it is and the tensors it takes and gives; empty for one that may be ours."""
    if node.op != "call_function":
        return f"{node.format_node()} is no call of a function"
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        name = target._schema.name
        if torch.Tag.nondeterministic_seeded in target.tags and _argument(node, "dropout_p") != 0:
            return f"{name} gives random numbers"
        if not _has_converter(name):
            return f"there is no operator {name}"
    elif isinstance(target, torch._ops.HigherOrderOperator):
        return f"{target} calls functions"
    for value in _tensors_of(node):
        if value.device.type != "cpu":
            return f"tensors are on the device {value.device.type}"
        if value.layout is not torch.strided:
            return f"tensors have the layout {value.layout}"
        if str(value.dtype).removeprefix("torch.") not in SCALAR_TYPES or value.is_quantized:
            return f"tensors have the element type {value.dtype}"
    return ""


def _argument(node: torch.fx.Node, name: str) -> Any:
    """An argument of an operator by its name; the default of its schema where it is not given, None where there is none."""
    for i, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            given = node.kwargs.get(name, argument.default_value)
            return node.args[i] if i < len(node.args) else given
    return None


def _tensors_of(node: torch.fx.Node) -> Iterator[torch.Tensor]:
    for each in (node, *node.all_input_nodes):
        value = each.meta.get("val")
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, torch.Tensor):
                yield part
