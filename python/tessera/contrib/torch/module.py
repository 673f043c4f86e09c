"""Exported libraries as modules of PyTorch that TorchScript can hold and save."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import tempfile
from typing import Any, List  # noqa: UP035 - TorchScript reads annotations

from ...model import Model
from ...relay.backend.executor_factory import GraphExecutorFactoryModule
from ...runtime.module import load_module
from ...runtime.params import load_param_dict
from ...runtime.vm import Executable
from ._torch import Module, device_of, ndarray_of, need_torch, torch_of

with contextlib.suppress(ModuleNotFoundError):  # TorchScript looks for the name where `forward` is
    import torch

__all__ = ["GraphModule", "TraceTvmModule", "VMModule"]

_MAX_LOADED = 64


class _Files:
    """Models of the modules that were called last, by the memory of their files, which therefore stays theirs."""

    def __init__(self) -> None:
        self.loaded: collections.OrderedDict[Any, tuple[Any, Model]] = collections.OrderedDict()

    def model(self, files: list[Any], kind: str, device: Any) -> Model:
        key = (kind, str(device), *(file.data_ptr() for file in files))
        if key not in self.loaded:
            self.loaded[key] = (files, _load(files, kind, device))
            if len(self.loaded) > _MAX_LOADED:
                self.loaded.popitem(last=False)
        self.loaded.move_to_end(key)
        return self.loaded[key][1]


def _load(files: list[Any], kind: str, device: Any) -> Model:
    """A library and what its executor needs beside it: a graph and parameters, or a program of the virtual machine."""
    library, *others = (bytes(file.cpu().numpy()) for file in files)
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        path = os.path.join(folder, "mod.so")
        with open(path, "wb") as out:
            out.write(library)
        code = load_module(path)
    if kind == "vm":
        return Model(Executable.load_exec(others[0], code), device_of(device))
    graph, params = others
    factory = GraphExecutorFactoryModule(
        None, None, None, graph.decode(), code, "default", dict(load_param_dict(params).items())
    )
    return Model(factory, device_of(device))


@functools.cache
def _operator() -> Any:
    """`torch.ops.tessera.run`, an operator that TorchScript knows."""
    torch = need_torch()
    files = _Files()

    def run(parts: list[Any], kind: str, inputs: list[Any]) -> list[Any]:
        device = inputs[0].device if inputs else torch.device("cpu")
        return [torch_of(array) for array in files.model(parts, kind, device)(*map(ndarray_of, inputs))]

    library = torch.library.Library("tessera", "DEF")
    library.define("run(Tensor[] files, str kind, Tensor[] inputs) -> Tensor[]")
    for key in ("CPU", "CUDA"):
        library.impl("run", run, key)
    return library


def _contents(path: str) -> Any:
    torch = need_torch()
    with open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)


class _FilesModule(Module):
    """What both kinds have: a device, and files that are part of the module's state."""

    def __init__(self, num_inputs: int, num_outputs: int, device: Any = None):
        super().__init__()
        torch = need_torch()
        _operator()
        self.num_inputs, self.num_outputs = num_inputs, num_outputs
        self.dummy_param = torch.nn.Parameter(torch.empty(0, device=device), requires_grad=False)
        for name in ("library", "program", "params"):
            self.register_buffer(name, torch.empty(0, dtype=torch.uint8))
        self.is_ready = False

    @property
    def device(self) -> Any:
        """Where the module runs."""
        return self.dummy_param.device

    @classmethod
    def shape_repr(cls, input_shapes: Any) -> str:
        """Shapes as a text that tells them apart."""
        return "_".join("x".join(str(int(extent)) for extent in shape) for shape in input_shapes)


class GraphModule(_FilesModule):
    """A library, a graph and parameters as a module: a list of tensors in, a list of tensors out."""

    def init(self, input_shapes: Any, lib_path: str, graph_path: str, params_path: str) -> None:
        """Reads the files that `relay.build` gave; the shapes are those that the library was compiled for."""
        self.library, self.program = _contents(lib_path), _contents(graph_path)
        self.params = _contents(params_path)
        self.is_ready = True

    def forward(self, inputs: List[torch.Tensor]) -> List[torch.Tensor]:  # noqa: UP006
        """The outputs, in a list."""
        assert len(inputs) == self.num_inputs, f"{len(inputs)} inputs are given, not {self.num_inputs}"
        assert self.is_ready, "the module has no library yet: call init"
        return torch.ops.tessera.run([self.library, self.program, self.params], "graph", inputs)


class VMModule(_FilesModule):
    """A library and the bytecode of a virtual machine as a module: a list of tensors in, a list of tensors out."""

    def init(self, input_shapes: Any, lib_path: str, code_path: str) -> None:
        """Reads what `Executable.save` gave."""
        self.library, self.program = _contents(lib_path), _contents(code_path)
        self.is_ready = True

    def forward(self, inputs: List[torch.Tensor]) -> List[torch.Tensor]:  # noqa: UP006
        """The outputs, in a list."""
        assert len(inputs) == self.num_inputs, f"{len(inputs)} inputs are given, not {self.num_inputs}"
        assert self.is_ready, "the module has no library yet: call init"
        return torch.ops.tessera.run([self.library, self.program], "vm", inputs)


class TraceTvmModule(Module):
    """A module that takes a list as one that takes tensors and can be traced."""

    def __init__(self, tvm_module: Any):
        super().__init__()
        self.tvm_module = tvm_module

    def forward(self, *inputs: Any) -> Any:
        """One output, or a tuple of several."""
        outputs = self.tvm_module(list(inputs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
