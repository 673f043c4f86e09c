"""`lower` and `build`: from schedules, functions and modules to code that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import IRModule
from ..runtime.module import Module
from ..target import Target
from ..te.schedule import Schedule
from ..te.tensor import Tensor
from ..tir import Buffer, PrimFunc, Var
from . import _ffi_api

__all__ = ["OperatorModule", "build", "get_binds", "lower", "schedule_to_module"]

Input = Any


def get_binds(
    args: Sequence[Buffer | Tensor | Var], compact: bool = False, binds: Mapping[Tensor, Buffer] | None = None
) -> Any:
    """Buffers of the tensors among `args`, and `args` with the tensors replaced by them."""
    binds, arg_list = _ffi_api.get_binds(list(args), compact, dict(binds or {}))
    return binds, arg_list


def schedule_to_module(
    sch: Schedule,
    args: Sequence[Buffer | Tensor | Var] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """The function of a schedule as it enters lowering."""
    return _ffi_api.schedule_to_module(sch, list(args or []), name, dict(binds or {}))


def lower(
    inp: Schedule | PrimFunc | IRModule,
    args: Sequence[Buffer | Tensor | Var] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """Lowers a TE schedule (with its arguments), a function or a module to plain loops over flat memory.

    `simple_mode` leaves out loop partition, for text that is easier to read.
    """
    if isinstance(inp, IRModule):
        return _ffi_api.lower_module(inp, simple_mode)
    if isinstance(inp, PrimFunc):
        return _ffi_api.lower_primfunc(inp, name, simple_mode)
    if isinstance(inp, Schedule):
        return _ffi_api.lower_schedule(inp, list(args or []), name, dict(binds or {}), simple_mode)
    raise ValueError(f"Expected input to be an IRModule, PrimFunc or te.Schedule, but got {type(inp).__name__}")


class OperatorModule(Module):
    """A built module that remembers the lowered functions it was made of, by target."""

    def __init__(
        self, mod: Module, ir_module_by_target: Mapping[Target, IRModule] | None = None, name: str | None = None
    ):
        super().__init__()
        self.__init_handle_by_handle__(mod)
        self.ir_module_by_target = ir_module_by_target
        self.name = name

    @classmethod
    def from_module(
        cls, mod: Module, ir_module_by_target: Mapping[Target, IRModule] | None = None, name: str | None = None
    ) -> OperatorModule:
        """The same code with what it was made of."""
        return cls(mod, ir_module_by_target, name)


def _lowered(inputs: Input, args: Any, name: str | None, binds: Any) -> Any:
    """The input as one lowered module, or as a mapping from target to lowered module."""
    if isinstance(inputs, Schedule):
        if args is None:
            raise ValueError("args must be given for build from schedule")
        return lower(inputs, args, name=name or "default_function", binds=binds)
    if isinstance(inputs, (list, tuple)):
        merged = IRModule({})
        for mod in inputs:
            if not isinstance(mod, IRModule):
                raise ValueError(f"a list to build has to hold IRModules, got {type(mod).__name__}")
            merged.update(lower(mod))
        return merged
    if isinstance(inputs, PrimFunc):
        return lower(inputs, name=name or "default_function")
    if isinstance(inputs, IRModule):
        return lower(inputs)
    if isinstance(inputs, Mapping) or hasattr(inputs, "items"):
        return inputs
    raise ValueError(
        f"Inputs must be te.Schedule, IRModule, PrimFunc, or dict of str to IRModule, but got {type(inputs).__name__}."
    )


def build(
    inputs: Schedule | PrimFunc | IRModule | Mapping[str, IRModule] | Sequence[IRModule],
    args: Sequence[Buffer | Tensor | Var] | None = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str | None = "default_function",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> OperatorModule:
    """Builds functions and their kernels.

    A schedule comes with its arguments. A dictionary from target to IRModule holds lowered functions. The target is the
    current one when not given, else "llvm"; the host is the target's own, else that of the first CPU target.
    """
    if runtime is not None and "system-lib" in runtime and runtime["system-lib"]:
        raise NotImplementedError("system libraries are not there yet; export_library writes a library to load")
    lowered = _lowered(inputs, args, name, binds)
    if isinstance(lowered, IRModule):
        target = target if target is not None else (Target.current() or "llvm")
        target = Target(target) if not isinstance(target, Target) else target
        if target_host is not None:
            target = Target(target, target_host)
        by_target = {target: lowered}
    else:
        by_target = {}
        for key, mod in lowered.items():
            if not isinstance(key, (str, Target)):
                raise ValueError("The key of inputs must be str or Target when inputs is dict.")
            if not isinstance(mod, IRModule):
                raise ValueError("inputs must be Schedule, IRModule, or dict of str to IRModule.")
            by_target[key if isinstance(key, Target) else Target(str(key))] = mod
    host = None if target_host is None else (target_host if isinstance(target_host, Target) else Target(target_host))
    module = _ffi_api.tir_to_runtime(by_target, host)
    return OperatorModule.from_module(module, ir_module_by_target=by_target, name=name)
