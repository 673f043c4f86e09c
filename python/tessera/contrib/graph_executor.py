"""Running a compiled graph: one caller's state around shared code and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ffi.registry import get_global_func
from .._ffi.runtime_ctypes import RPC_SESS_MASK
from ..runtime import ndarray as nd
from ..runtime.module import BenchmarkResult, Module

__all__ = ["GraphModule", "create", "get_device"]


def create(graph_json_str: str, libmod: Module, device: Any) -> GraphModule:
    """The executor of a graph whose functions are in `libmod`; the first of several devices is where it runs."""
    if not isinstance(graph_json_str, str):
        graph_json_str = graph_json_str._tvm_graph_json()
    device_numbers = [number for dev in get_device(libmod, device) for number in (dev.device_type, dev.device_id)]
    session = getattr(device, "_rpc_sess", None)
    if session is not None:
        device_numbers = [number % RPC_SESS_MASK for number in device_numbers]
    find = get_global_func if session is None else session.get_function
    return GraphModule(find("tvm.graph_executor.create")(graph_json_str, libmod, *device_numbers))


def get_device(libmod: Module, device: Any) -> list[Any]:
    """One device or several as a list."""
    del libmod
    devices = list(device) if isinstance(device, (list, tuple)) else [device]
    if not devices:
        raise ValueError("device has to be the type of Device or a list of Device")
    for dev in devices:
        if not hasattr(dev, "device_type"):
            raise ValueError("device has to be the type of Device or a list of Device")
    return devices


class GraphModule:
    """A graph ready to run. It is one caller's state: `lib["default"](dev)` makes another that shares the code."""

    def __init__(self, module: Module):
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_num_inputs = module["get_num_inputs"]
        self._get_input_index = module["get_input_index"]
        self._get_input_info = module["get_input_info"]
        self._load_params = module["load_params"]
        self._share_params = module["share_params"]
        self._input_types: dict[str | int, str | None] = {}  # of inputs that were set from NumPy

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Copies `value` into an input, by name or number, and each of `params` into the input of its name.

        An unknown `key` is an error; names among `params` that the graph does not have are left out. NumPy arrays and numbers
        are converted to the input's type.
        """
        if key is not None:
            self._put(key, value)
        for name in sorted(params, key=lambda name: -_element_count(params[name])):
            if self._get_input_index(name) >= 0:
                self._put(name, params[name])

    def _put(self, key: str | int, value: Any) -> None:
        is_there = isinstance(value, nd.NDArray) and value.device.device_type >= RPC_SESS_MASK
        if self.module.type_key == "rpc" and not is_there:
            self._get_input(key).copyfrom(value)  # the input is on the server, the value here
        else:
            self._set_input(key, self._converted(key, value))

    def _converted(self, key: str | int, value: Any) -> Any:
        """A value as a tensor for an input: NumPy arrays and numbers take its element type, tensors keep theirs.

        As ever in a tensor of bfloat16, uint16 is its bits.
        """
        if isinstance(value, nd.NDArray):
            return value
        if key not in self._input_types:
            known = self._get_input(key)
            self._input_types[key] = None if known is None else known.dtype  # nobody reads it, or there is none
        array = np.asarray(value)
        dtype = self._input_types[key]
        return nd.array(array) if dtype is None else nd.empty(array.shape, dtype).copyfrom(array)

    def run(self, **input_dict: Any) -> None:
        """Runs the graph, after setting the inputs given."""
        if input_dict:
            self.set_input(**input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """How many outputs the graph has."""
        return self._get_num_outputs()

    def get_num_inputs(self) -> int:
        """How many inputs the graph has, parameters included."""
        return self._get_num_inputs()

    def get_input(self, index: int | str, out: Any = None) -> Any:
        """The input of that number or name; its contents in `out` when that is given."""
        if out is not None:
            self._get_input(index).copyto(out)
            return out
        return self._get_input(index)

    def get_input_index(self, name: str) -> int:
        """The number of the input of that name, -1 when there is none."""
        return self._get_input_index(name)

    def get_input_info(self) -> tuple[Any, Any]:
        """Shapes and element types of the inputs that are not parameters, each a Map by name."""
        info = self._get_input_info()
        return info["shape"], info["dtype"]

    def get_output(self, index: int, out: Any = None) -> Any:
        """The output of that number; its contents in `out` when that is given."""
        if out is not None:
            self._get_output(index, out)
            return out
        return self._get_output(index)

    def debug_get_output(self, node: Any, out: Any) -> Any:
        """The output of an inner node: only the debug executor has it."""
        raise NotImplementedError("Please use debugger.debug_executor as graph_executor instead.")

    def load_params(self, params_bytes: Any) -> None:
        """Sets the parameters from what `runtime.save_param_dict` gave."""
        self._load_params(bytes(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: Any) -> None:
        """Uses the other executor's memory for the parameters named in `params_bytes`."""
        self._share_params(other.module, bytes(params_bytes))

    def __getitem__(self, key: str) -> Any:
        return self.module[key]

    def benchmark(
        self,
        device: Any,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Times a function of the module; `end_to_end` includes the copies of inputs (given by name) and outputs."""
        enough = (min_repeat_ms or 0, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        if end_to_end:
            named = [part for name, value in kwargs.items() for part in (name, _as_tensor(value))]
            timed = self.module.time_evaluator("run_from_inputs", device, number, repeat, *enough)
            return timed(device.device_type, device.device_id, len(named), *named)
        if kwargs:
            self.set_input(**kwargs)
        return self.module.time_evaluator(func_name, device, number, repeat, *enough)()


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, nd.NDArray) else nd.array(value)


def _element_count(value: Any) -> int:
    return int(np.prod(value.shape if hasattr(value, "shape") else np.shape(value), dtype="int64"))
