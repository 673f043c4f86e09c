"""A graph executor that shows what happens inside: times and values of all nodes, written to a folder."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Sequence
from typing import Any

from ..._ffi.registry import get_global_func
from ...runtime.module import BenchmarkResult, Module
from ...runtime.ndarray import cpu
from ...runtime.profiling import MetricCollector, Report
from .. import graph_executor
from . import debug_result

__all__ = ["GraphModuleDebug", "create"]

_DUMP_ROOT_PREFIX = "tvmdbg_"
_DUMP_PATH_PREFIX = "_tvmdbg_"


def create(graph_json_str: str, libmod: Module, device: Any, dump_root: str | None = None) -> GraphModuleDebug:
    """The debug executor of a graph whose functions are in `libmod`.

    Its files go below `dump_root`, or below a new temporary folder; `exit` removes that folder.
    """
    if not isinstance(graph_json_str, str):
        graph_json_str = graph_json_str._tvm_graph_json()
    devices = graph_executor.get_device(libmod, device)
    device_numbers = [number for dev in devices for number in (dev.device_type, dev.device_id)]
    module = get_global_func("tvm.graph_executor_debug.create")(graph_json_str, libmod, *device_numbers)
    return GraphModuleDebug(module, devices, graph_json_str, dump_root)


class GraphModuleDebug(graph_executor.GraphModule):
    """A graph ready to be run and looked into; `lib["debug_create"]("default", dev)` gives the module for it."""

    def __init__(self, module: Module, device: Any, graph_json_str: str, dump_root: str | None):
        super().__init__(module)
        self._run_individual = module["run_individual"]
        self._run_individual_node = module["run_individual_node"]
        self._execute_node = module["execute_node"]
        self._get_node_output = module["get_node_output"]
        self._profile = module["profile"]
        self._profile_rpc = module["profile_rpc"]
        first = device[0] if isinstance(device, (list, tuple)) else device
        self._dump_root = dump_root or tempfile.mkdtemp(prefix=_DUMP_ROOT_PREFIX)
        name = str(first).upper().replace("(", "_").replace(")", "")
        self._dump_path = os.path.join(self._dump_root, f"{_DUMP_PATH_PREFIX}device_{name}")
        os.makedirs(self._dump_path, mode=0o700, exist_ok=True)
        self.debug_datum = debug_result.DebugResult(graph_json_str, self._dump_path)

    def run(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 1,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        sort_by_time: bool = True,
        **input_dict: Any,
    ) -> None:
        """Measures every node, keeps the output of every node, writes the files and prints the table.

        The numbers are those of `Module.time_evaluator`.
        """
        if input_dict:
            self.set_input(**input_dict)
        self.debug_datum._time_list = self.run_individual(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        self._run_per_layer()
        self.debug_datum.dump_output_tensor()
        self.debug_datum.dump_chrome_trace()
        self.debug_datum.display_debug_result(sort_by_time)

    def _run_per_layer(self) -> None:
        """Keeps each output before a later node can overwrite it."""
        outputs = []
        for i, node in enumerate(self.debug_datum.get_graph_nodes()):
            self._execute_node(i)
            for j in range(self.debug_datum.get_graph_node_output_num(node)):
                outputs.append(self._get_node_output(i, j).copyto(cpu(0)))
        self.debug_datum.update_output_tensors(outputs)

    def run_individual(
        self,
        number: int,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[Sequence[float]]:
        """Seconds of one run of each node, `repeat` times; zeros for inputs."""
        blob = self._run_individual(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        return [list(times) for times in struct.iter_unpack(f"@{repeat}d", bytes(blob)[8:])]

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:
        """The same for one node, by its number."""
        blob = self._run_individual_node(
            index, number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        return BenchmarkResult(struct.unpack(f"@{repeat}d", bytes(blob)))

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """Runs the graph up to a node, given by number or name, and returns its first output (in `out` when given)."""
        if isinstance(node, str):
            names = [known["name"] for known in self.debug_datum.get_graph_nodes()]
            if node not in names:
                raise AttributeError(f"Could not find a node named {node} in this graph.")
            node = names.index(node)
        elif not isinstance(node, int):
            raise RuntimeError("Require node index or name only.")
        self._execute_node(0)
        self._execute_node(node)
        value = self._get_node_output(node, 0)
        if out is None:
            return value.copyto(value.device)
        value.copyto(out)
        return out

    def profile(self, collectors: Sequence[MetricCollector] | None = None, **input_dict: Any) -> Report:
        """Runs once, each node measured on its own, and reports what it cost."""
        if input_dict:
            self.set_input(**input_dict)
        if self.module.type_key == "rpc":
            return Report.from_json(self._profile_rpc())
        return self._profile(list(collectors or []))

    def exit(self) -> None:
        """Removes the folder of this executor's files."""
        if os.path.exists(self._dump_root):
            shutil.rmtree(self._dump_root)
