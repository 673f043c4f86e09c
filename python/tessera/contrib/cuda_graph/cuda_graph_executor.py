"""The graph executor that launches a whole graph as one CUDA graph."""

from __future__ import annotations

from typing import Any, NoReturn

from ..._ffi.registry import get_global_func
from .. import graph_executor

__all__ = ["GraphModuleCudaGraph", "create"]


def create(graph_json_str: str, libmod: Any, device: Any) -> GraphModuleCudaGraph:
    """An executor of the graph, whose functions are those of the module."""
    devices = graph_executor.get_device(libmod, device)
    numbers = [number for dev in devices for number in (dev.device_type, dev.device_id)]
    return GraphModuleCudaGraph(
        get_global_func("tvm.graph_executor_cuda_graph.create")(graph_json_str, libmod, *numbers)
    )


class GraphModuleCudaGraph(graph_executor.GraphModule):
    """A graph captured once and launched many times.

    `module` is what `create` or a library's function "cuda_graph_create" gives.
    """

    def __init__(self, module: Any):
        super().__init__(module)
        self._capture = module["capture_cuda_graph"]
        self._launch = module["run_cuda_graph"]

    def capture_cuda_graph(self) -> None:
        """Run the graph once, then record it."""
        self._capture()

    def run_cuda_graph(self) -> None:
        """Launch the recorded graph, without waiting for it."""
        self._launch()

    def run(self, **input_dict: Any) -> None:
        """Set inputs and launch; the first run, and one after memory was replaced, records the graph."""
        if input_dict:
            self.set_input(**input_dict)
        self._launch()

    def debug_get_output(self, node: Any, out: Any) -> NoReturn:
        raise NotImplementedError("a graph that is launched at once has no outputs of single nodes")
