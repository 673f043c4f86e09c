"""The virtual machine: programs with control flow, data types, closures and shapes known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ffi.registry import get_global_func
from . import ndarray as nd
from .container import ADT, tuple_object
from .module import BenchmarkResult, Module
from .object import Object

__all__ = ["Executable", "VirtualMachine", "convert"]


def _value(value: Any) -> Any:
    """An argument as the machine takes it: tensors as they are, arrays and numbers as tensors, sequences as tuples."""
    if isinstance(value, (nd.NDArray, ADT)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple_object([_value(item) for item in value])
    if isinstance(value, Object) and not hasattr(value, "__array__"):
        return value
    if isinstance(value, bool):
        return nd.array(np.asarray(value))
    if isinstance(value, int):
        return nd.array(np.asarray(value, "int32" if -(2**31) <= value < 2**31 else "int64"))
    if isinstance(value, float):
        return nd.array(np.asarray(value, "float32"))
    return nd.array(np.asarray(value))


def convert(args: Any) -> list[Any]:
    """Arguments as a virtual machine takes them: arrays as NDArrays, tuples and lists as tuples of values."""
    return [_value(arg) for arg in args]


class Executable:
    """A compiled program: bytecode, constants and, in `lib`, its kernels."""

    def __init__(self, mod: Module):
        self.mod = mod
        self._function_params: dict[str, list[str]] = {}

    def save(self) -> tuple[bytearray, Module | None]:
        """The program as bytes, and the library of its kernels, which is saved by `lib.export_library`."""
        return self.mod["save"](), self.lib

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: Module | None) -> Executable:
        """The program that `save` gave. Bytes that are no such program are a ValueError."""
        if lib is not None and not isinstance(lib, Module):
            raise TypeError(f"lib is expected to be the type of tvm.runtime.Module, but received {type(lib)}")
        if not isinstance(bytecode, (bytes, bytearray)):
            raise TypeError(f"bytecode is expected to be the type of bytearray, but received {type(bytecode)}")
        return Executable(get_global_func("runtime.Load_Executable")(bytearray(bytecode), lib))

    @property
    def module(self) -> Module:
        """The module behind this object."""
        return self.mod

    @property
    def lib(self) -> Module | None:
        """The library of kernels; None where the program has none."""
        return self.mod["get_lib"]()

    @property
    def bytecode(self) -> str:
        """All functions as text, one instruction a line."""
        return self.mod["get_bytecode"]()

    @property
    def constants(self) -> str:
        """The constants, a line each."""
        return self.mod["get_constants"]()

    @property
    def virtual_devices(self) -> str:
        """The kinds of devices the program runs on, a line each."""
        return self.mod["get_virtual_devices"]()

    @property
    def primitives(self) -> str:
        """The kernels, a line each."""
        return self.mod["get_primitives"]()

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels."""
        return [str(name) for name in self.mod["get_primitive_names"]()]

    @property
    def globals(self) -> list[str]:
        """The names of the functions."""
        return [str(name) for name in self.mod["get_globals"]()]

    @property
    def stats(self) -> str:
        """How many constants, functions and kernels there are."""
        return self.mod["get_stats"]()

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters."""
        if func_name not in self._function_params:
            names = self.mod["get_function_params"](func_name)
            self._function_params[func_name] = [str(name) for name in names]
        return self._function_params[func_name]

    def move_late_bound_consts(self, path: str, byte_limit: int) -> None:
        """Takes constants of at least `byte_limit` bytes out of the program and writes them to a file."""
        self.mod["move_late_bound_consts"](path, byte_limit)

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, nd.NDArray]:
        """Constants of at least `byte_limit` bytes, by name."""
        return dict(self.mod["get_late_bound_consts"](byte_limit).items())

    def load_late_bound_consts(self, path: str) -> None:
        """Reads the constants that `move_late_bound_consts` wrote."""
        self.mod["load_late_bound_consts"](path)

    def load_late_bound_consts_from_map(self, map: dict[str, nd.NDArray]) -> None:
        """Takes the constants that are not in the program from a dictionary."""
        self.mod["load_late_bound_consts_from_map"](map)


class VirtualMachine:
    """Runs a program. It is one caller's state: give each thread a machine of its own on the same executable."""

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, exe: Executable | Module, device: Any, memory_cfg: str | dict[Any, str] | None = None):
        if not isinstance(exe, (Executable, Module)):
            raise TypeError("exe is expected to be the type of Executable, but received " + str(type(exe)))
        self._exec = exe if isinstance(exe, Executable) else Executable(exe)
        self.module = self._exec.mod[self._loader]()
        self._init = self.module["init"]
        self._invoke = self.module["invoke"]
        self._invoke_stateful = self.module["invoke_stateful"]
        self._get_output = self.module["get_output"]
        self._get_num_outputs = self.module["get_num_outputs"]
        self._get_input_index = self.module["get_input_index"]
        self._set_input = self.module["set_input"]
        self._set_one_input = self.module["set_one_input"]
        self._set_outputs = self.module["set_outputs"]
        self._setup_device(device, memory_cfg)

    _loader = "vm_load_executable"

    def _setup_device(self, device: Any, memory_cfg: str | dict[Any, str] | None) -> None:
        devices = list(device) if isinstance(device, (list, tuple)) else [device]
        if any(dev.device_type >= 128 for dev in devices):
            raise NotImplementedError("the virtual machine does not run on remote devices")
        if all(dev.device_type != nd.cpu().device_type for dev in devices):
            devices.append(nd.cpu())  # the host is always there
        kinds = {"naive": self.NAIVE_ALLOCATOR, "pooled": self.POOLED_ALLOCATOR}
        if memory_cfg is None:
            memory_cfg = "pooled"
        if isinstance(memory_cfg, str) and memory_cfg not in kinds:
            raise ValueError(f'memory_cfg is "naive", "pooled" or one of them for each device, not {memory_cfg!r}')
        if not isinstance(memory_cfg, (str, dict)):
            raise TypeError(f"memory_cfg is expected be string or dictionary, but received {type(memory_cfg)}")
        args = []
        for dev in devices:
            kind = memory_cfg if isinstance(memory_cfg, str) else memory_cfg.get(dev, "pooled")
            args += [dev.device_type, dev.device_id, kinds[kind]]
        self._init(*args)

    def _arguments(self, func_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if not kwargs:
            return [_value(arg) for arg in args]
        names = self._exec.get_function_params(func_name)
        given: list[Any] = [None] * len(names)
        for name, value in kwargs.items():
            if name not in names:
                raise ValueError(f"{func_name} has no parameter {name}; it has {', '.join(names)}")
            given[names.index(name)] = value
        rest = iter(args)
        given = [next(rest, None) if value is None else value for value in given]
        if any(value is None for value in given):
            missing = [name for name, value in zip(names, given) if value is None]
            raise ValueError(f"{func_name}: the arguments {', '.join(missing)} are missing")
        return [_value(value) for value in given]

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """The arguments of a function for calls to come, in order or by name."""
        self._set_input(func_name, *self._arguments(func_name, args, kwargs))

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """One argument of a function: its number or name and the value, or `name=value`."""
        if kwargs:
            if len(kwargs) != 1 or args:
                raise ValueError("set_one_input takes one argument, by its number, its name or as name=value")
            args = next(iter(kwargs.items()))
        if len(args) != 2:
            raise ValueError("set_one_input takes one argument, by its number, its name or as name=value")
        self._set_one_input(func_name, args[0], _value(args[1]))

    def set_input_with_index(self, func_name: str, index: int, value: Any) -> None:
        """One argument of a function by its number."""
        self._set_one_input(func_name, index, _value(value))

    def set_outputs(self, func_name: str, *args: Any) -> None:
        """Tensors that results of the function are put into, without a copy where that is possible; none: as before."""
        self._set_outputs(func_name, *args)

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a function, with the inputs set before where none are given."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return self._invoke(func_name)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Calls "main"."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Calls a function and keeps its results for `get_outputs`."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self._invoke_stateful(func_name)

    def get_outputs(self) -> list[Any]:
        """The results of the last call."""
        return [self._get_output(i) for i in range(self._get_num_outputs())]

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The number of a parameter, -1 when there is none of that name."""
        return self._get_input_index(input_name, func_name)

    def benchmark(
        self,
        device: Any,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Times calls of a function; `end_to_end` includes copying the results to the device."""
        enough = (min_repeat_ms or 0, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        if end_to_end:
            timed = self.module.time_evaluator("invoke_return_to_device", device, number, repeat, *enough)
            return timed(device.device_type % 128, device.device_id, func_name)
        return self.module.time_evaluator("invoke", device, number, repeat, *enough)(func_name)
