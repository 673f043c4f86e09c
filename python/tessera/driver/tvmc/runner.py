"""Running compiled models."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...contrib import graph_executor
from ...contrib.debugger import debug_executor
from ...model import Model, TensorInfo
from ...runtime import ndarray as nd
from ...runtime import profiler_vm, vm
from ...runtime.module import BenchmarkResult, Module
from .exceptions import TVMCException, from_core
from .model import TVMCPackage, TVMCResult

__all__ = ["generate_tensor_data", "make_inputs_dict", "run_module"]

#: Devices by the names that `run` takes.
DEVICES = {"cpu": nd.cpu, "cuda": nd.cuda, "cl": nd.cl, "metal": nd.metal, "vulkan": nd.vulkan, "rocm": nd.rocm}
FILL_MODES = ("zeros", "ones", "random")


def run_module(
    tvmc_package: TVMCPackage,
    device: str,
    hostname: str | None = None,
    port: int | str = 9090,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | str | os.PathLike | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Mapping[str, Any] | None = None,
) -> TVMCResult:
    """Runs a package once, or `repeat` times `number` times to `benchmark` it.

    `inputs` are arrays by name, or the path of an .npz file of them; those that are missing are filled as `fill_mode` says.
    `profile` prints the time of each kernel. Without `benchmark` the times are those of the one run.
    """
    del port
    _check(tvmc_package, device, hostname, rpc_key, fill_mode, repeat, number, profile, end_to_end, options)
    place = DEVICES[device](0)
    with from_core():
        module = get_global_func("runtime.LoadPackage")(tvmc_package.package_path)
        wanted = Model(module, place).inputs
        values = {name: nd.array(value, place) for name, value in make_inputs_dict(wanted, inputs, fill_mode).items()}
        runner = _Program if tvmc_package.type == "vm" else _Graph
        return runner(module, place, values).run(benchmark, repeat, number, profile, end_to_end)


def make_inputs_dict(
    wanted: list[TensorInfo], inputs: Mapping[str, Any] | str | os.PathLike | None = None, fill_mode: str = "random"
) -> dict[str, np.ndarray]:
    """An array for each input: the one given, or made up. A name that the model does not have is an error."""
    given = _arrays(inputs)
    known = [info.name for info in wanted]
    for name in given:
        if name not in known:
            raise TVMCException(f'the model has no input "{name}"; its inputs are {", ".join(known) or "none"}')
    return {
        info.name: np.asarray(given[info.name], None if hasattr(given[info.name], "dtype") else info.dtype)
        if info.name in given
        else generate_tensor_data(info.shape, info.dtype, fill_mode, info.name)
        for info in wanted
    }


def generate_tensor_data(shape: tuple[int, ...], dtype: str, fill_mode: str, name: str = "input") -> np.ndarray:
    """Zeros, ones, or random numbers: floats between 0 and 1, small whole numbers otherwise."""
    if any(extent < 0 for extent in shape):
        raise TVMCException(f'the input "{name}" has the shape {list(shape)}, which a run decides: give it in `inputs`')
    if fill_mode == "zeros":
        return np.zeros(shape, dtype)
    if fill_mode == "ones":
        return np.ones(shape, dtype)
    if fill_mode != "random":
        raise TVMCException(f'fill_mode is one of {", ".join(FILL_MODES)}, not "{fill_mode}"')
    if np.dtype(dtype).kind in "iu":
        return np.random.randint(128, size=shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return np.random.randint(2, size=shape).astype(dtype)
    return np.random.uniform(size=shape).astype(dtype)


def _arrays(inputs: Mapping[str, Any] | str | os.PathLike | None) -> Mapping[str, Any]:
    if not isinstance(inputs, (str, os.PathLike)):
        return inputs or {}
    try:
        with np.load(inputs, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, TypeError) as error:
        raise TVMCException(f"{os.fspath(inputs)} is no .npz file of inputs: {error}") from error


def _check(
    package: TVMCPackage,
    device: str,
    hostname: Any,
    rpc_key: Any,
    fill_mode: str,
    repeat: int,
    number: int,
    profile: bool,
    end_to_end: bool,
    options: Any,
) -> None:
    """What cannot be is said before anything runs."""
    if not isinstance(package, TVMCPackage):
        raise TVMCException(f"run takes a TVMCPackage, which `compile` gives, not {type(package).__name__}")
    if package.type == "mlf" or device == "micro" or options:
        raise TVMCException("microTVM (Model Library Format, the device micro, project options) is not there yet")
    if device not in DEVICES:
        raise TVMCException(f'there is no device "{device}"; devices are {", ".join(DEVICES)}')
    if hostname or rpc_key:
        raise TVMCException("running on another machine (hostname, rpc_key) is not there yet")
    if fill_mode not in FILL_MODES:
        raise TVMCException(f'fill_mode is one of {", ".join(FILL_MODES)}, not "{fill_mode}"')
    for name, value in (("repeat", repeat), ("number", number)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise TVMCException(f"{name} is a number from 1 on, not {value!r}")
    if profile and end_to_end:
        raise TVMCException("end_to_end measures a whole run and profile its kernels: choose one of them")


class _Graph:
    """A graph with its inputs set."""

    def __init__(self, module: Module, device: Any, inputs: dict[str, nd.NDArray]):
        self.module, self.device, self.inputs = module, device, inputs

    def run(self, benchmark: bool, repeat: int, number: int, profile: bool, end_to_end: bool) -> TVMCResult:
        if profile:
            graph = self.module["get_graph_json"]()
            debug = debug_executor.GraphModuleDebug(
                self.module["debug_create"]("default", self.device), [self.device], graph, None
            )
            self._set_inputs(debug)
            print(debug.profile())
        executor = graph_executor.GraphModule(self.module["default"](self.device))
        self._set_inputs(executor)
        start = time.perf_counter()
        executor.run()
        self.device.sync()
        times = BenchmarkResult([time.perf_counter() - start])
        if benchmark:
            named: dict[str, Any] = self.inputs if end_to_end else {}
            times = executor.benchmark(self.device, number=number, repeat=repeat, end_to_end=end_to_end, **named)
        outputs = (executor.get_output(i).numpy() for i in range(executor.get_num_outputs()))
        return TVMCResult({f"output_{i}": value for i, value in enumerate(outputs)}, times)

    def _set_inputs(self, executor: graph_executor.GraphModule) -> None:
        for name, value in self.inputs.items():
            executor.set_input(name, value)


class _Program(_Graph):
    """A program of the virtual machine with its inputs."""

    def run(self, benchmark: bool, repeat: int, number: int, profile: bool, end_to_end: bool) -> TVMCResult:
        executable = vm.Executable(self.module)
        if profile:
            print(profiler_vm.VirtualMachineProfiler(executable, self.device).profile(*self.inputs.values()))
        machine = vm.VirtualMachine(executable, self.device)
        machine.set_input("main", *self.inputs.values())
        start = time.perf_counter()
        machine.invoke_stateful("main")
        self.device.sync()
        times = BenchmarkResult([time.perf_counter() - start])
        outputs = {f"output_{i}": value.numpy() for i, value in enumerate(machine.get_outputs())}
        if benchmark:
            times = machine.benchmark(self.device, number=number, repeat=repeat, end_to_end=end_to_end)
        return TVMCResult(outputs, times)
