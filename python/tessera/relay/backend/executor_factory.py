"""Compiled models: code, graph and parameters in one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ..._ffi.registry import get_global_func
from ...runtime.module import Module

__all__ = ["ExecutorFactoryModule", "GraphExecutorFactoryModule", "VMExecutorFactoryModule"]


class ExecutorFactoryModule:
    """The base of compiled models. Unpacks into its three parts as older scripts expect."""

    module: Module
    params: dict[str, Any]
    iter_cnt = 0

    def get_executor_config(self) -> Any:
        """What the executor runs from."""
        raise NotImplementedError

    def get_params(self) -> dict[str, Any]:
        """Parameters by name; empty where they are constants of the program."""
        return self.params

    def get_lib(self) -> Module:
        """The library of compiled functions."""
        raise NotImplementedError

    def get_devices(self) -> list[Any]:
        """Devices the model was compiled for."""
        return []

    def export_library(self, file_name: str, fcompile: Any = None, addons: Any = None, **kwargs: Any) -> Any:
        """Writes code, and what the executor needs beside it, into one library file."""
        return self.module.export_library(file_name, fcompile, addons, **kwargs)

    def __getitem__(self, item: str) -> Any:
        return self.module.__getitem__(item)

    def __iter__(self) -> Iterator[Any]:
        warnings.warn(
            "legacy graph executor behavior of producing json / lib / params will be removed in the next release."
            " Please see documents of tvm.contrib.graph_executor.GraphModule for the new recommended usage.",
            DeprecationWarning,
            2,
        )
        return iter((self.get_executor_config(), self.get_lib(), self.get_params()))


class GraphExecutorFactoryModule(ExecutorFactoryModule):
    """A model for the graph executor: `lib["default"](device)` makes one; `export_library` writes all in one file."""

    def __init__(
        self,
        ir_mod: Any,
        target: Any,
        executor: Any,
        graph_json_str: str,
        libmod: Module,
        libmod_name: str,
        params: dict[str, Any],
        function_metadata: Any = None,
    ):
        self.ir_mod = ir_mod
        self.target = target
        self.executor = executor
        self.graph_json = graph_json_str
        self.lib = libmod
        self.libmod_name = libmod_name
        self.params = params
        self._function_metadata = function_metadata
        named = [part for name, value in params.items() for part in (name, value)]
        create = get_global_func("tvm.graph_executor_factory.create")
        self.module = create(graph_json_str, libmod, libmod_name, *named)

    @property
    def function_metadata(self) -> Any:
        """What is known of the kernels by name; where it was given as a function, that is called when asked for it."""
        if callable(self._function_metadata):
            self._function_metadata = self._function_metadata()
        return self._function_metadata

    def get_graph_json(self) -> str:
        """The graph that the executor runs."""
        return self.graph_json

    def get_executor_config(self) -> str:
        """The graph that the executor runs."""
        return self.graph_json

    def get_lib(self) -> Module:
        """The library of compiled functions."""
        return self.lib


class VMExecutorFactoryModule(ExecutorFactoryModule):
    """A model for the virtual machine, run as graphs are: `lib["default"](device)` has set_input, run, get_output.

    `relay.build` gives it for models with control flow, or shapes that are not written down, when no executor is named.
    """

    def __init__(self, ir_mod: Any, target: Any, executable: Any, libmod_name: str):
        self.ir_mod = ir_mod
        self.target = target
        self.executor = None
        self.executable = executable
        self.libmod_name = libmod_name
        self.module = executable.mod
        self.params = {}

    def __getitem__(self, item: str) -> Any:
        return self.module["default" if item == self.libmod_name else item]

    def get_executor_config(self) -> str:
        """The program as text."""
        return self.executable.bytecode

    def get_lib(self) -> Module:
        """The library of compiled functions."""
        return self.executable.lib
