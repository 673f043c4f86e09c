"""The graph of a model's convolutions: what each costs by each of its records, and what a move between blocks of channels costs."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import nd, relay
from ...ir import IRModule, Op
from ...target import Target
from ..record import encode, load_from_file
from ..task import args_to_workload, serialize_args
from ..task.workloads import workloads_of_call

__all__ = ["BaseGraphTuner", "Node"]

_BYTES = 4
_GUESSED_BANDWIDTH = 4e9  # of a move, until it is measured


class Node:
    """A call of a target operator: its workload, the records of it, the elements of its result, and the nodes that it reads."""

    def __init__(self, workload: Any, records: list[Any], elements: int, inputs: list[int]) -> None:
        self.workload, self.records, self.elements, self.inputs = workload, records, elements, inputs

    def seconds(self, choice: int) -> float:
        """Of the kernel by one of its records."""
        return float(np.mean(self.records[choice][1].costs))

    def block(self, choice: int, name: str) -> int:
        """The channels of a block: of data ("tile_ic") or of results ("tile_oc")."""
        return int(self.records[choice][0].config[name].size[-1])


class BaseGraphTuner:
    """Finds a record for each target operator of a graph. `records` is a log or pairs of input and result; at most `max_sch_num` of
    each workload are looked at."""

    def __init__(
        self,
        graph: Any,
        input_shapes: dict[str, Any],
        records: Any,
        target_ops: Any,
        target: Any,
        max_sch_num: int = 20,
        dtype: str = "float32",
        verbose: bool = True,
        log_file: str | None = "graph_tuner.log",
        log_level: int = logging.DEBUG,
        name: str = "graph_tuner",
    ) -> None:
        del dtype
        self.target = target if isinstance(target, Target) else Target(target)
        self.max_sch_num = max_sch_num
        self._logger = logging.getLogger(name + "_logger")
        if verbose and log_file and not self._logger.handlers:
            self._logger.addHandler(logging.FileHandler(log_file))
            self._logger.setLevel(log_level)
        pairs = load_from_file(records) if isinstance(records, (str, os.PathLike)) else records
        wanted = {op.name if isinstance(op, Op) else str(op) for op in target_ops}
        self.nodes = self._find_nodes(_typed(graph, input_shapes), wanted, _by_workload(pairs))
        if not self.nodes:
            raise RuntimeError(f"no call of {', '.join(sorted(wanted))} in the graph has records")
        self.choices = [0] * len(self.nodes)
        self._move_seconds: dict[Any, float] = {}
        self._bandwidth = _GUESSED_BANDWIDTH

    def _find_nodes(self, function: Any, wanted: set[str], by_workload: dict[Any, list[Any]]) -> list[Node]:
        nodes: list[Node] = []
        reached: dict[Any, list[int]] = {}  # of an expression: the nodes that its value comes from

        def sources(exprs: Iterable[Any]) -> list[int]:
            return sorted({index for expr in exprs for index in reached.get(expr, [])})

        def visit(expr: Any) -> None:
            if isinstance(expr, relay.Call):
                if isinstance(expr.op, Op) and expr.op.name in wanted:
                    for name, args in workloads_of_call(expr):
                        workload = args_to_workload(serialize_args(args), name)
                        if records := by_workload.get(workload, [])[: self.max_sch_num]:
                            shape = [int(extent) for extent in expr.checked_type.shape]
                            nodes.append(Node(workload, records, math.prod(shape), sources(expr.args[:1])))
                            reached[expr] = [len(nodes) - 1]
                            return
                reached[expr] = sources(expr.args)
            elif isinstance(expr, relay.Tuple):
                reached[expr] = sources(expr.fields)
            elif isinstance(expr, relay.TupleGetItem):
                reached[expr] = sources([expr.tuple_value])

        relay.analysis.post_order_visit(function.body, visit)
        return nodes

    def benchmark_layout_transform(
        self,
        min_exec_num: int = 100,
        timeout: int = 10,
        use_rpc: bool = False,
        device_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 9190,
        n_parallel: int = 1,
        build_func: str = "default",
        layout_records: Any = None,
        target_host: Any = None,
        infer_layout: bool = False,
        runner: Any = None,
    ) -> None:
        """Measures on this machine how long moves between blocks take. With `infer_layout` one is measured, and the others follow from
        their sizes."""
        del timeout, device_key, host, port, n_parallel, build_func, layout_records, target_host, runner
        if use_rpc:
            raise NotImplementedError("moves are measured on this machine; leave out use_rpc")
        moves = sorted(
            {
                (self.nodes[source].elements, a, b)
                for node in self.nodes
                for source in node.inputs
                for a in {self.nodes[source].block(i, "tile_oc") for i in range(len(self.nodes[source].records))}
                for b in {node.block(i, "tile_ic") for i in range(len(node.records))}
                if a != b
            },
            reverse=True,
        )
        for elements, a, b in moves[:1] if infer_layout else moves:
            self._move_seconds[(elements, a, b)] = self._measure_move(elements, a, b, max(1, min_exec_num // 10))
        if moves:
            elements, a, b = moves[0]
            self._bandwidth = elements * _BYTES / max(self._move_seconds[moves[0]], 1e-9)

    def _measure_move(self, elements: int, a: int, b: int, number: int) -> float:
        channels = math.lcm(a, b)
        x = relay.var("x", shape=(1, channels // a, max(1, elements // channels), 1, a))
        moved = relay.layout_transform(x, f"NCHW{a}c", f"NCHW{b}c")
        library = relay.build(IRModule.from_expr(relay.Function([x], moved)), self.target)
        from ...contrib import graph_executor
        from ...runtime import cpu

        module = graph_executor.GraphModule(library["default"](cpu()))
        module.set_input("x", nd.array(np.zeros([int(extent) for extent in x.type_annotation.shape], "float32")))
        return float(module.benchmark(cpu(), repeat=1, number=number).mean)

    def move_seconds(self, source: int, a: int, b: int) -> float:
        """What a move of a node's result between blocks costs."""
        if a == b:
            return 0.0
        elements = self.nodes[source].elements
        return self._move_seconds.get((elements, a, b), elements * _BYTES / self._bandwidth)

    def edge_seconds(self, source: int, source_choice: int, at: int, choice: int) -> float:
        """What lies between two nodes by two of their records."""
        a = self.nodes[source].block(source_choice, "tile_oc")
        return self.move_seconds(source, a, self.nodes[at].block(choice, "tile_ic"))

    def total_seconds(self, choices: list[int] | None = None) -> float:
        """Of all nodes and what lies between them."""
        choices = self.choices if choices is None else choices
        return sum(
            node.seconds(choices[at])
            + sum(self.edge_seconds(source, choices[source], at, choices[at]) for source in node.inputs)
            for at, node in enumerate(self.nodes)
        )

    def run(self, **kwargs: Any) -> None:
        """Chooses a record for each node."""
        raise NotImplementedError("take DPTuner or PBQPTuner")

    def get_optimal_records(self) -> list[Any]:
        """The record of each node, in the order of the graph."""
        return [node.records[choice] for node, choice in zip(self.nodes, self.choices)]

    def write_opt_sch2record_file(self, record_file: str = "graph_opt_schedule.log") -> None:
        """Writes those as a log, which `ApplyGraphBest` takes."""
        with open(record_file, "a", encoding="utf-8") as file:
            for inp, result in self.get_optimal_records():
                file.write(encode(inp, result) + "\n")


def _typed(graph: Any, input_shapes: dict[str, Any]) -> Any:
    """The function, typed, with inputs of these shapes."""
    function = graph["main"] if isinstance(graph, IRModule) else graph
    params = [
        relay.var(var.name_hint, shape=input_shapes[var.name_hint], dtype=var.type_annotation.dtype)
        if var.name_hint in input_shapes and getattr(var.type_annotation, "shape", None) is not None
        else var
        for var in function.params
    ]
    body = relay.bind(function.body, dict(zip(function.params, params)))
    return relay.transform.InferType()(IRModule.from_expr(relay.Function(params, body)))["main"]


def _by_workload(pairs: Iterable[Any]) -> dict[Any, list[Any]]:
    """Records that ran, the fastest of each workload first; of those with the same blocks the fastest alone."""
    out: dict[Any, list[Any]] = {}
    for inp, result in sorted(
        (pair for pair in pairs if pair[1].error_no == 0), key=lambda pair: float(np.mean(pair[1].costs))
    ):
        known = out.setdefault(inp.task.workload, [])
        blocks = [tuple(inp.config[name].size) for name in ("tile_ic", "tile_oc") if name in inp.config]
        if len(blocks) == 2 and all(
            [tuple(r[0].config[n].size) for n in ("tile_ic", "tile_oc")] != blocks for r in known
        ):
            known.append((inp, result))
    return out
