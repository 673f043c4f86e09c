"""Compiling for the virtual machine."""

from __future__ import annotations

from typing import Any, Callable

from ..._ffi.registry import get_global_func
from ...ir import GlobalVar
from ...ir.module import IRModule
from ...runtime import vm as vm_rt
from .interpreter import Executor

__all__ = ["VMCompiler", "VMExecutor", "compile"]


def compile(mod: IRModule, target: Any = None, target_host: Any = None, params: Any = None) -> vm_rt.Executable:
    """The program of a module; `params` become constants."""
    compiler = VMCompiler()
    if params:
        compiler.set_params(params)
    compiler.lower(mod, target, target_host)
    compiler.codegen()
    return compiler.get_exec()


class VMCompiler:
    """The steps of `compile`, one by one."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._lowered: tuple[IRModule, Any] | None = None
        self._exec: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Parameters of "main" that become constants."""
        from ..build_module import _tensors

        self._params = _tensors(params)

    def get_params(self) -> dict[str, Any]:
        """The parameters set before."""
        return dict(self._params)

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Optimises a module for a target."""
        self._lowered = self._optimized(mod, target, target_host)

    @property
    def lowered_module(self) -> IRModule | None:
        """What `lower` made."""
        return self._lowered[0] if self._lowered else None

    @property
    def target(self) -> Any:
        """The target that `lower` was given, or a list where there were several."""
        if self._lowered is None:
            return None
        targets = self._lowered[1]
        return targets[0] if len(targets) == 1 else targets

    def codegen(self) -> None:
        """Compiles what was lowered."""
        if self._lowered is None:
            raise ValueError("VMCompiler: there is nothing to compile; call lower first")
        self._exec = get_global_func("relay.vm.compile")(*self._lowered)

    def optimize(
        self, mod: IRModule, target: Any = None, target_host: Any = None, params: dict[str, Any] | None = None
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module as it is compiled, and the parameters."""
        if params:
            self.set_params(params)
        return self._optimized(mod, target, target_host)[0], self.get_params()

    def get_exec(self) -> vm_rt.Executable:
        """The compiled program."""
        if self._exec is None:
            raise ValueError("VMCompiler: nothing was compiled yet; call codegen first")
        return vm_rt.Executable(self._exec)

    def _optimized(self, mod: IRModule, target: Any, target_host: Any) -> tuple[IRModule, Any]:
        from ..build_module import _targets, bind_params_by_name

        if not isinstance(mod, IRModule):
            raise ValueError(f"the virtual machine compiles an IRModule, got {type(mod).__name__}")
        where = _targets(target, target_host)
        mod = IRModule(dict(mod.functions.items()), dict(mod.type_definitions.items()))
        if self._params:
            mod["main"] = bind_params_by_name(mod["main"], self._params)
        return get_global_func("relay.vm.optimize")(mod, where), where


class VMExecutor(Executor):
    """Evaluates expressions on the virtual machine: what `relay.create_executor("vm")` gives."""

    def __init__(self, mod: IRModule, device: Any, target: Any):
        if mod is None:
            raise RuntimeError("Must provide module to get VM executor.")
        self.mod = mod
        self.device = device
        self.target = target
        self.executable: vm_rt.Executable | None = None
        self.vm: vm_rt.VirtualMachine | None = None

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        mod = IRModule(dict(self.mod.functions.items()), dict(self.mod.type_definitions.items()))
        if expr is not None:
            mod["main"] = mod[expr] if isinstance(expr, GlobalVar) else expr
        main = mod["main"]
        self.executable = compile(mod, self.target)
        self.vm = machine = vm_rt.VirtualMachine(self.executable, self.device)

        def run(*args: Any, **kwargs: Any) -> Any:
            return machine.run(*self._convert_args(main, args, kwargs))

        return run
