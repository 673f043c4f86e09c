"""What a debug run found out: a table for people, and files for tools."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime import ndarray as nd
from ...runtime.params import save_param_dict

__all__ = ["CHROME_TRACE_FILE_NAME", "GRAPH_DUMP_FILE_NAME", "DebugResult", "save_tensors"]

GRAPH_DUMP_FILE_NAME = "_tvmdbg_graph_dump.json"
CHROME_TRACE_FILE_NAME = "_tvmdbg_execution_trace.json"
TENSOR_FILE_NAME = "output_tensors.params"

COLUMNS = ("Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)")


class DebugResult:
    """Times and outputs of the nodes of a graph, and the folder they are written to.

    In the nodes of `get_graph_nodes` an input is the name of the node that gives it, "op" is the function called or
    "param", and "shape" and the attribute "T" are those of the first output.
    """

    def __init__(self, graph_json: str, dump_path: str):
        self._dump_path = dump_path
        self._output_tensor_list: list[nd.NDArray] = []
        self._time_list: list[Sequence[float]] = []
        graph = json.loads(graph_json)
        self._nodes_list: list[dict[str, Any]] = graph["nodes"]
        self._shapes_list = graph["attrs"]["shape"]
        self._dtype_list = graph["attrs"]["dltype"]
        self._describe_nodes(graph["node_row_ptr"])
        self.dump_graph_json(json.dumps(graph))

    def _describe_nodes(self, first_entry: Sequence[int]) -> None:
        names = [node["name"] for node in self._nodes_list]
        for i, node in enumerate(self._nodes_list):
            node["inputs"] = [names[source[0]] for source in node["inputs"]]
            node["op"] = "param" if node["op"] == "null" else node["attrs"]["func_name"]
            node.setdefault("attrs", {})["T"] = f"type: {self._dtype_list[1][first_entry[i]]}"
            node["shape"] = self._shapes_list[1][first_entry[i]]

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """The nodes, in order."""
        return self._nodes_list

    def get_graph_node_shapes(self) -> Any:
        """The shapes of all values, as the graph lists them."""
        return self._shapes_list

    def get_graph_node_dtypes(self) -> Any:
        """The element types of all values, as the graph lists them."""
        return self._dtype_list

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """How many outputs a node has."""
        return 1 if node["op"] == "param" else int(node["attrs"]["num_outputs"])

    def get_output_tensors(self) -> dict[str, nd.NDArray]:
        """All outputs of the last run: "name____topo-index:number of the node____output-num:number of the output"."""
        names = [
            f"{node['name']}____topo-index:{i}____output-num:{j}"
            for i, node in enumerate(self._nodes_list)
            for j in range(self.get_graph_node_output_num(node))
        ]
        return dict(zip(names, self._output_tensor_list))

    def update_output_tensors(self, tensors: Sequence[Any]) -> None:
        """Sets the outputs of all nodes, in order."""
        self._output_tensor_list = [t if isinstance(t, nd.NDArray) else nd.array(t) for t in tensors]

    def dump_output_tensor(self) -> None:
        """Writes the outputs, as `get_output_tensors` names them, to a parameter file."""
        with open(os.path.join(self._dump_path, TENSOR_FILE_NAME), "wb") as file:
            file.write(save_tensors(self.get_output_tensors()))

    def dump_chrome_trace(self) -> None:
        """Writes the times in the form that chrome://tracing and Perfetto show, nodes one after the other."""
        events: list[dict[str, Any]] = []
        now = 0.0
        for node, times in zip(self._nodes_list, self._time_list):
            for phase, step in (("B", 0.0), ("E", float(np.mean(times)) * 1e6)):
                now += step
                events.append({"ts": now, "ph": phase, "cat": node["op"], "name": node["name"], "pid": 1, "tid": 1})
        self._dump_json(CHROME_TRACE_FILE_NAME, {"displayTimeUnit": "ns", "traceEvents": events})

    def dump_graph_json(self, graph: str) -> None:
        """Writes the graph, with what is known of its nodes."""
        self._dump_json(GRAPH_DUMP_FILE_NAME, json.loads(graph))

    def _dump_json(self, name: str, value: Any) -> None:
        with open(os.path.join(self._dump_path, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=4, sort_keys=False)

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """The table: a row for each output of each node that calls a function, the longest first, and their sum."""
        total = sum(times[0] for times in self._time_list) * 1e6
        rows: list[list[Any]] = []
        shapes = iter(self._output_tensor_list)
        for node, times in zip(self._nodes_list, self._time_list):
            for _ in range(self.get_graph_node_output_num(node)):
                shape = tuple(next(shapes).shape)
                if node["op"] == "param":
                    continue
                spent = times[0] * 1e6
                share = spent / total * 100 if total else 0.0
                sizes = [node["attrs"]["num_inputs"], node["attrs"]["num_outputs"]]
                all_times = [round(seconds * 1e6, 3) for seconds in times]
                rows.append([node["name"], node["op"], round(spent, 3), round(share, 3), shape, *sizes, all_times])
        if sort_by_time:
            rows.sort(key=lambda row: -row[2])
        rows.append(["Total_time", "-", round(total, 3), *"-----"])
        cells = [list(COLUMNS), ["-" * len(name) for name in COLUMNS], *([str(x) for x in row] for row in rows)]
        widths = [max(len(line[i]) for line in cells) + 2 for i in range(len(COLUMNS))]
        return "\n".join("".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in cells)

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Prints the table."""
        print(self.get_debug_result(sort_by_time))


def save_tensors(params: Mapping[str, Any]) -> bytearray:
    """Tensors by name as a parameter blob; `runtime.load_param_dict` reads it."""
    return save_param_dict(dict(params))
