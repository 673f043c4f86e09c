"""Questions about graphs of operations and about where stages are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tir import IterVar, ProducerLoad
from ..tir.stmt_functor import post_order_visit
from .tensor import Operation, Tensor

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["CreateAttachPath", "CreateReadGraph", "PostDFSOrder", "ScanFixPointAnalysis", "ScanGetBody"]

_SCOPE, _SCAN_UPDATE = 4, 5


def CreateReadGraph(roots: Any) -> dict[Operation, list[Tensor]]:
    """The tensors that each operation reads, of all that the roots need."""
    graph: dict[Operation, list[Tensor]] = {}
    left = list(roots)
    while left:
        op = left.pop()
        if op not in graph:
            graph[op] = list(op.input_tensors)
            left += [tensor.op for tensor in graph[op]]
    return graph


def PostDFSOrder(roots: Any, g: Any) -> list[Operation]:
    """Operations, each after those it reads."""
    order: list[Operation] = []
    seen = set()

    def visit(op: Operation) -> None:
        if op not in seen:
            seen.add(op)
            for tensor in g.get(op, []) or []:
                visit(tensor.op)
            order.append(op)

    for root in roots:
        visit(root)
    return order


def CreateAttachPath(schedule: Schedule) -> dict[Operation, list[IterVar]]:
    """The loops around each stage, innermost first."""
    paths: dict[Operation, list[IterVar]] = {}
    for stage in schedule.stages:
        path: list[IterVar] = []
        here = stage
        while here.attach_type in (_SCOPE, _SCAN_UPDATE):
            around = here.attach_stage
            is_inside = here.attach_type == _SCAN_UPDATE
            for loop in reversed(list(around.leaf_iter_vars)):
                is_inside = is_inside or loop.same_as(here.attach_ivar)
                if is_inside:
                    path.append(loop)
            here = around
        paths.setdefault(stage.op, path)
    return paths


def ScanGetBody(scan_op: Any) -> list[Operation]:
    """The operations inside a scan: those of its update that read its states."""
    states = {tensor.op for tensor in scan_op.state_placeholder}
    graph = CreateReadGraph([tensor.op for tensor in scan_op.update])
    body: list[Operation] = []
    inside = set(states)
    for op in PostDFSOrder([tensor.op for tensor in scan_op.update], graph):
        if op not in states and any(tensor.op in inside for tensor in graph[op]):
            inside.add(op)
            body.append(op)
    return body


def ScanFixPointAnalysis(scan_op: Any) -> dict[IterVar, int]:
    """1 for each spatial axis along which a step reads only the same index of the states, 0 for the others."""
    body = ScanGetBody(scan_op)
    inside = set(body)
    ranks = [len(tensor.shape) - 1 for tensor in scan_op.update]
    axes = iter(scan_op.spatial_axis_)
    owned = [[next(axes) for _ in range(rank)] for rank in ranks]
    fixed = {axis: 1 for group in owned for axis in group}
    # For each dimension of a tensor of the body the spatial axes that index it.
    indexed: dict[tuple[Any, int, int], set[Any]] = {}
    for update, group in zip(scan_op.update, owned):
        for i, axis in enumerate(group):
            indexed[(update.op, update.value_index, i + 1)] = {axis}
    state_of = {(tensor.op, tensor.value_index): group for tensor, group in zip(scan_op.state_placeholder, owned)}

    def axes_of(op: Any, loop: Any) -> set[Any]:
        """The spatial axes that a loop of an operation stands for."""
        found = set()
        for dim, own in enumerate(op.axis):
            if own.var.same_as(loop):
                for out in range(op.num_outputs):
                    found |= indexed.get((op, out, dim), set())
        return found

    def read(op: Any, load: Any) -> None:
        for dim, index in enumerate(load.indices):
            of = axes_of(op, index)
            key = (load.producer.op, load.producer.value_index)
            if key in state_of and dim > 0:
                target = state_of[key][dim - 1]
                if of != {target}:
                    for axis in of | {target}:
                        fixed[axis] = 0
            elif load.producer.op in inside:
                indexed.setdefault((*key, dim), set()).update(of)

    for op in reversed(body):
        loads: list[Any] = []
        for expr in getattr(op, "body", []):
            post_order_visit(expr, loads.append)
        for load in loads:
            if isinstance(load, ProducerLoad):
                read(op, load)
    return fixed
