"""A compiled model that many threads may run at once, and the short way to one: `tessera.compile("model.onnx")`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ._ffi.registry import get_global_func
from ._ffi.runtime_ctypes import Device
from .ir import IRModule
from .runtime import ndarray as nd
from .runtime.module import Module, load_module
from .target import Target

__all__ = ["Model", "TensorInfo", "compile"]


class TensorInfo(NamedTuple):
    """What is known of an input or output; an extent of -1 is one that a run decides."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Model:
    """A compiled model. `run` may be called by any number of threads at the same time, on this one object.

    `lib` is what `relay.build` or `relay.vm.compile` gave, a module, or the path of an exported library or of a package.
    Without a device the model runs on the first one of the kind it was compiled for.

        model = tessera.Model("resnet.so")
        (scores,) = model.run(data=image)
    """

    def __init__(self, lib: Any, device: Device | None = None):
        if isinstance(lib, (str, os.PathLike)):
            lib = _load(os.fspath(lib))
        module = lib if isinstance(lib, Module) else getattr(lib, "module", None)
        if not isinstance(module, Module):
            raise TypeError(f"Model takes a compiled model, a module or a path, not {type(lib).__name__}")
        self._built: dict[str, Any] = {"runnable": module}
        self.module: Module = get_global_func("runtime.Model")(module, device)
        self._run = self.module["run"]
        self._index = self.module["input_index"]
        self._inputs = _infos(self.module["inputs"]())
        self._outputs = _infos(self.module["outputs"]())

    @property
    def inputs(self) -> list[TensorInfo]:
        """What `run` takes, in order; parameters of the model are not among them."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[TensorInfo]:
        """What `run` gives, in order; empty where only a run can tell."""
        return list(self._outputs)

    @property
    def device(self) -> Device:
        """Where the model runs."""
        return self.module["device"]()

    def run(self, *args: Any, **kwargs: Any) -> list[nd.NDArray]:
        """Runs the model and returns its outputs, which belong to the caller.

        Inputs are given in order, by keyword, or as one dict by name. They are tensors or what NumPy makes arrays of; a
        list or a number takes the element type of its input, an array must have it.
        """
        named = list(kwargs.items())
        if len(args) == 1 and isinstance(args[0], Mapping):
            named += args[0].items()
            args = ()
        if len(args) > len(self._inputs):
            raise ValueError(f"the model takes {len(self._inputs)} inputs, got {len(args)}")
        values: list[Any] = [None] * len(self._inputs)
        for i, value in enumerate(args):
            values[i] = self._tensor(i, value)
        for name, value in named:
            i = self._index(name)
            if values[i] is not None:
                raise ValueError(f'input "{name}" is given twice')
            values[i] = self._tensor(i, value)
        return list(self._run(*values))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the compiled model as a library (.so) or, where `tessera.compile` made it, a package (.tar).

        `Model(path)` reads both, on a machine that has the runtime alone too.
        """
        path = os.fspath(path)
        if path.endswith(".so"):
            get_global_func("driver.export_library")(self._built["runnable"], path, "", [])
        elif path.endswith(".tar") and "executor" in self._built:
            get_global_func("driver.export_package")(self._built, path, "", [])
        elif path.endswith(".tar"):
            raise ValueError(
                "a package (.tar) is written of what tessera.compile made; write this model as a library (.so)"
            )
        else:
            raise ValueError(f"a compiled model is written as a library (.so) or a package (.tar), not as {path}")

    def _tensor(self, index: int, value: Any) -> nd.NDArray:
        if isinstance(value, nd.NDArray):
            return value
        if value is None:
            raise ValueError(f'input "{self._inputs[index].name}" is None')
        if hasattr(value, "__array__"):
            return _as_tensor(value)
        return nd.array(np.asarray(value, self._inputs[index].dtype))

    def __repr__(self) -> str:
        takes = ", ".join(f"{x.name}: {x.dtype}{list(x.shape)}" for x in self._inputs)
        gives = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self._outputs) or "..."
        return f"Model({takes}) -> ({gives}) on {self.device}"


def compile(
    model: Any,
    target: Any = "llvm",
    shapes: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    opt_level: int = 3,
    device: Device | None = None,
) -> Model:
    """Compiles a model file, a Relay module (with its `params`) or an ONNX `ModelProto`, ready to run:

        model = tessera.compile("resnet50.onnx")
        (scores,) = model.run(image)
        model.save("resnet50.tar")

    `shapes` gives inputs their shapes by name, where the file leaves them open or others are wanted. `target` is a Target
    or a text as `tessera compile --target` takes it; "llvm" is this machine's processor.
    """
    if isinstance(model, (str, os.PathLike)):
        wanted = {str(name): list(shape) for name, shape in (shapes or {}).items()}
        mod, values, _ = get_global_func("frontend.load_model")(os.fspath(model), "", wanted)
        shapes = None
    elif isinstance(model, IRModule):
        mod, values = model, {}
    elif hasattr(model, "SerializeToString"):
        mod, values = importlib.import_module("tessera.relay.frontend").from_onnx(model, shape=dict(shapes or {}))
        shapes = None
    else:
        raise TypeError(f"compile takes the path of a model, a module or an ONNX model, not {type(model).__name__}")
    if shapes:
        raise ValueError("shapes are for models of files: the inputs of a module have theirs")
    if isinstance(target, str):
        target = get_global_func("driver.target_from_text")(target, {})
    tensors = {**dict(values.items()), **{name: _as_tensor(value) for name, value in (params or {}).items()}}
    built = get_global_func("driver.compile_model")(mod, tensors, {"target": Target(target), "opt_level": opt_level})
    out = Model(built["runnable"], device)
    out._built = dict(built.items())
    return out


def _load(path: str) -> Module:
    """A library, or what a package holds."""
    return get_global_func("runtime.LoadPackage")(path) if path.endswith(".tar") else load_module(path)


def _as_tensor(value: Any) -> nd.NDArray:
    return value if isinstance(value, nd.NDArray) else nd.array(np.asarray(value))


def _infos(rows: Any) -> list[TensorInfo]:
    return [TensorInfo(str(name), tuple(int(x) for x in shape), str(dtype)) for name, shape, dtype in rows]
