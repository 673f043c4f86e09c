"""A module or function of PyTorch traced and compiled, as a module of PyTorch."""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from typing import Any

from ... import meta_schedule, relay
from ...ir.transform import PassContext
from ...model import Model
from ._torch import Module, ndarray_of, need_torch, torch_of

__all__ = ["GraphExecutorFactoryWrapper", "llvm_target", "optimize_torch", "save_to_base64", "tune_relay_auto"]


class GraphExecutorFactoryWrapper(Module):
    """A compiled model as a module; it can be saved by torch.save."""

    def __init__(self, module: Any):
        super().__init__()
        self.inner_module = module if isinstance(module, Model) else Model(module)

    def forward(self, *torch_inputs: Any) -> Any:
        """One output, or a list of several."""
        outputs = [torch_of(array) for array in self.inner_module(*map(ndarray_of, torch_inputs))]
        return outputs[0] if len(outputs) == 1 else outputs


def llvm_target() -> str:
    """This machine's CPU with all its cores."""
    return f"llvm -num-cores={os.cpu_count() or 1}"


def save_to_base64(obj: Any) -> bytes:
    """The library of a compiled model, in base64."""
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        path = os.path.join(folder, "mod.so")
        obj.export_library(path)
        with open(path, "rb") as file:
            return base64.b64encode(file.read())


def tune_relay_auto(
    mod: Any, target: Any, config: Any, work_dir: str, backend: str = "graph", params: dict[str, Any] | None = None
) -> Any:
    """Tunes a model by meta_schedule.tune_relay and compiles it."""
    return meta_schedule.tune_relay(mod, target, config, work_dir, backend=backend, params=params)


def optimize_torch(
    func: Any, example_inputs: Any, tuning_config: Any = None, target: Any = None, work_dir: str | None = None
) -> GraphExecutorFactoryWrapper:
    """The function or module compiled for inputs like the examples.

    With a meta_schedule.TuneConfig its kernels are tuned first, with files in `work_dir`; without, built-in rules schedule them.
    """
    torch = need_torch()
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    traced = torch.jit.trace(func, inputs)
    infos = [(f"inp_{i}", (tuple(each.shape), str(each.dtype).removeprefix("torch."))) for i, each in enumerate(inputs)]
    mod, params = relay.frontend.from_pytorch(traced, infos)
    target = target or llvm_target()
    if tuning_config is None:
        with PassContext(opt_level=3):
            return GraphExecutorFactoryWrapper(relay.build(mod, target=target, params=params))
    folder = contextlib.nullcontext(work_dir) if work_dir else tempfile.TemporaryDirectory()
    with folder as path:
        return GraphExecutorFactoryWrapper(tune_relay_auto(mod, target, tuning_config, path, params=params))
