"""Tensor programs as modules of PyTorch."""

from __future__ import annotations

import functools
import os
import tempfile
from typing import Any

from ... import meta_schedule
from ...driver import build as build_program
from ...ir.module import IRModule
from ...runtime.ndarray import NDArray, from_dlpack
from ...target import Target
from ...tir.function import PrimFunc
from ._torch import Module

__all__ = ["OperatorModuleWrapper", "as_torch"]


def _default_target() -> Target:
    return Target(f"llvm --num-cores={os.cpu_count() or 1}")


class OperatorModuleWrapper(Module):
    """A PrimFunc, or the one of an IRModule, as a module; calling it fills the tensors that the function writes."""

    def __init__(self, module: Any):
        super().__init__()
        self.ir_module = module
        self.rt_module: Any = None

    def tune(self, config: Any = None, target: Any = None) -> None:
        """Searches a schedule by meta_schedule.tune_tir; `config` is a TuneConfig."""
        if config is None:
            config = meta_schedule.TuneConfig(
                strategy="evolutionary", num_trials_per_iter=64, max_trials_per_task=64, max_trials_global=64
            )
        with tempfile.TemporaryDirectory() as folder:
            found = meta_schedule.tune_tir(self.ir_module, target or _default_target(), config, folder)
        if found is None:
            raise RuntimeError("the search found no schedule that runs; try more trials, or build without tuning")
        self.ir_module = found.mod
        self.rt_module = None

    def build(self, target: Any = None) -> None:
        """Compiles the function; a call does it for the device of its tensors where this was not called."""
        self.rt_module = build_program(self.ir_module, target=target or _default_target())

    def forward(self, *torch_inputs: Any) -> None:
        """Calls the function with tensors of PyTorch, in its order, on their own memory."""
        if self.rt_module is None:
            self.build("cuda" if torch_inputs and torch_inputs[0].is_cuda else None)
        self.rt_module(*map(_shared, torch_inputs))


def _shared(value: Any) -> NDArray | Any:
    """A tensor as ours on the same memory, which the program may write to."""
    if not hasattr(value, "is_contiguous"):
        return value
    if not value.is_contiguous():
        raise ValueError(
            f"a tensor of shape {tuple(value.shape)} has gaps, so that it cannot be shared; call contiguous()"
        )
    return from_dlpack(value.detach().__dlpack__())


def as_torch(func: Any) -> Any:
    """A PrimFunc or an IRModule as a module of PyTorch; of a function that gives one, a function that gives modules."""
    if isinstance(func, (IRModule, PrimFunc)):
        return OperatorModuleWrapper(func)
    if callable(func):

        @functools.wraps(func)
        def made(*args: Any, **kwargs: Any) -> OperatorModuleWrapper:
            return OperatorModuleWrapper(func(*args, **kwargs))

        return made
    raise ValueError(f"as_torch takes a PrimFunc, an IRModule or a function that gives one, not {type(func).__name__}")
