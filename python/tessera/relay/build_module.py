"""From a Relay module to something that runs."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from .._ffi.registry import get_global_func
from ..contrib import graph_executor
from ..ir import Array, GlobalVar
from ..ir.module import IRModule
from ..ir.transform import PassContext
from ..runtime import ndarray as nd
from ..runtime.module import Module
from ..target import Target
from . import transform
from . import ty as _ty
from .backend import Executor as ExecutorKind
from .backend import Runtime as RuntimeKind
from .backend.executor_factory import ExecutorFactoryModule, GraphExecutorFactoryModule, VMExecutorFactoryModule
from .backend.interpreter import Executor, Interpreter
from .function import Function

__all__ = ["BuildModule", "GraphExecutor", "bind_params_by_name", "build", "create_executor", "optimize"]


def bind_params_by_name(func: Function, params: dict[str, Any]) -> Function:
    """The function with the parameters of those names replaced by constants."""
    return get_global_func("relay.build_module.BindParamsByName")(func, _tensors(params))


def build(
    ir_mod: Any,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: dict[str, Any] | None = None,
    mod_name: str = "default",
) -> ExecutorFactoryModule:
    """Compiles the function "main" of `ir_mod`; `lib["default"](device)` gives an executor of the result.

    `executor` and `runtime` are of `relay.backend`. With the option "link-params" the library alone (`get_lib`) holds
    the parameters too, so that an executor made of it needs none. Without an `executor` a static graph is compiled for
    the graph executor, and what needs more (control flow, data types, shapes that are not written down) for the
    virtual machine.
    """
    if not isinstance(ir_mod, (IRModule, Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    if isinstance(ir_mod, Function):
        warnings.warn("Please use input parameter mod (tvm.IRModule) instead of a function", DeprecationWarning, 2)
        ir_mod = IRModule.from_expr(ir_mod)
    if executor is None and get_global_func("relay.vm.is_needed")(ir_mod):
        compiler = importlib.import_module("tessera.relay.backend.vm").VMCompiler()
        compiler.set_params(params or {})
        compiler.lower(ir_mod, target, target_host)
        compiler.codegen()
        return VMExecutorFactoryModule(compiler.lowered_module, compiler.target, compiler.get_exec(), mod_name)
    builder = BuildModule()
    graph_json, library, built_params = builder.build(
        ir_mod,
        target,
        target_host,
        executor,
        runtime,
        workspace_memory_pools,
        constant_memory_pools,
        params,
        mod_name,
    )
    return GraphExecutorFactoryModule(
        builder.get_irmodule(),
        builder.target,
        builder.executor,
        graph_json,
        library,
        mod_name,
        built_params,
        builder.get_function_metadata,
    )


@contextlib.contextmanager
def records_of_history(mod: IRModule, params: Any, targets: list[Target]) -> Iterator[None]:
    """What AutoTVM's contexts (`autotvm.apply_history_best`) know of the kernels is among the records that the build looks into."""
    from ..autotvm.task.history import context_with_records, plans_of_context

    context = context_with_records()
    if context is None or len(targets) != 1 or targets[0].kind.name != "llvm":
        yield
        return
    outer = PassContext.current()
    plans = plans_of_context(mod, params, targets[0], context)
    config = {**dict(outer.config.items()), "kernel.records": {**plans, **dict(outer.config.get("kernel.records", {}).items())}}
    with PassContext(outer.opt_level, list(outer.required_pass), list(outer.disabled_pass), list(outer.instruments), config):
        yield


class BuildModule:
    """Compiles modules step by step; `relay.build` is the short way."""

    def __init__(self) -> None:
        self.target: Target | list[Target] | None = None
        self.executor: ExecutorKind | None = None
        self._built: Any = None

    def build(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        executor: Any = None,
        runtime: Any = None,
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: dict[str, Any] | None = None,
        mod_name: str | None = None,
    ) -> tuple[str, Module, dict[str, Any]]:
        """Compiles the function "main": the graph, the library of its kernels, and its parameters."""
        self.executor = executor if executor is not None else ExecutorKind("graph")
        check_supported(self.executor, runtime, workspace_memory_pools, constant_memory_pools)
        targets = _targets(target, target_host)
        self.target = targets[0] if len(targets) == 1 else targets
        compile_graph = get_global_func("relay.build_module.build_graph")
        with records_of_history(mod, params, targets):
            self._built = compile_graph(mod, targets, _tensors(params or {}), mod_name or "default")
        if self.executor["link-params"]:
            link = get_global_func("tvm.runtime.link_params")
            self._built = {**dict(self._built.items()), "lib": link(self._built["lib"], self._built["params"])}
        return self.get_graph_json(), self.get_module(), self.get_params()

    def optimize(
        self, mod: IRModule, target: Any = None, target_host: Any = None, params: dict[str, Any] | None = None
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module after the graph passes of `build`."""
        return optimize(mod, _targets(target, target_host), params)

    def get_graph_json(self) -> str:
        """The graph that the executor runs."""
        return str(self._built["graph_json"])

    def get_module(self) -> Module:
        """The library of compiled functions."""
        return self._built["lib"]

    def get_params(self) -> dict[str, Any]:
        """Parameters of the compiled graph by name."""
        return {str(name): value for name, value in self._built["params"].items()}

    def get_irmodule(self) -> IRModule:
        """The module that was compiled, after all graph passes."""
        return self._built["mod"]

    def get_function_metadata(self) -> dict[str, Any]:
        """The kernels of the graph by name, and the whole as "__tvm_main__": sizes in bytes and programs by target."""
        return {str(name): info for name, info in self._built["functions"]().items()}

    def get_executor_codegen_metadata(self) -> None:
        """Graphs have none; only ahead-of-time compilation does."""

    def get_devices(self) -> list[str]:
        """Kinds of devices that were named in the module; a graph runs on the one it is given."""
        return []


def check_supported(executor: Any, runtime: Any, workspace_pools: Any = None, constant_pools: Any = None) -> None:
    """What cannot be compiled for yet is an error that says what to use instead."""
    if not isinstance(executor, ExecutorKind):
        raise TypeError(f"executor must be a relay.backend.Executor, not {type(executor).__name__}")
    if runtime is not None and not isinstance(runtime, RuntimeKind):
        raise TypeError(f"runtime must be a relay.backend.Runtime, not {type(runtime).__name__}")
    if executor.name == "aot":
        raise NotImplementedError('Executor("aot") is not there yet; Executor("graph") runs the same models')
    if runtime is not None and runtime.name == "crt":
        raise NotImplementedError('Runtime("crt") is not there yet; use Runtime("cpp")')
    if runtime is not None and "system-lib" in runtime and runtime["system-lib"]:
        raise NotImplementedError("system libraries are not there yet; export_library writes a library to load")
    if workspace_pools is not None or constant_pools is not None:
        raise NotImplementedError("memory pools serve ahead-of-time compilation, which is not there yet")


def optimize(
    mod: IRModule, target: Any = None, params: dict[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The module after the graph passes of `build`."""
    mod = IRModule(dict(mod.functions.items()), dict(mod.type_definitions.items()))
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    return get_global_func("relay.build_module.optimize")(mod, _targets(target, None)), {}


class GraphExecutor(Executor):
    """Runs functions as compiled graphs: static shapes, no control flow."""

    def __init__(self, mod: Any, device: Any, target: Any):
        self.mod = mod if mod is not None else IRModule()
        self.device = device
        self.target = target

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        if expr is not None:
            self.mod["main"] = self.mod[expr] if isinstance(expr, GlobalVar) else expr
        self.mod = transform.InferType()(self.mod)
        main = self.mod["main"]
        result_type = main.checked_type.ret_type
        if _ty.is_dynamic(result_type):
            raise ValueError("Graph Executor only supports static graphs, got output type", result_type)
        module = graph_executor.GraphModule(
            build(self.mod, target=self.target, executor=ExecutorKind("graph"))["default"](self.device)
        )

        def unflatten(tensors: Iterator[Any], of: Any) -> Any:
            if isinstance(of, _ty.TensorType):
                return next(tensors)
            if isinstance(of, _ty.TupleType):
                return [unflatten(tensors, field) for field in of.fields]
            raise ValueError("Return type", result_type, "contains unsupported type", of)

        def run(*args: Any, **kwargs: Any) -> Any:
            for i, arg in enumerate(self._convert_args(main, args, kwargs)):
                module.set_input(i, arg)
            module.run()
            outputs = [module.get_output(i).copyto(nd.cpu(0)) for i in range(module.get_num_outputs())]
            return unflatten(iter(outputs), result_type)

        return run


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: dict[str, Any] | None = None,
) -> Executor:
    """Something that evaluates expressions and functions of `mod`.

    "debug" interprets; "graph" compiles a static graph; "vm" runs everything on the virtual machine.
    """
    mod = mod if mod is not None else IRModule()
    target = Target(target)
    if device is None:
        device = nd.device(str(target.kind.name), 0)
    elif device.device_type != nd.device(str(target.kind.name), 0).device_type:
        raise AssertionError(f"the device {device} cannot run code for the target {target}")
    if params is not None:
        mod = IRModule.from_expr(bind_params_by_name(mod["main"], params))
    if kind == "debug":
        return Interpreter(mod, device, target)
    if kind == "graph":
        return GraphExecutor(mod, device, target)
    if kind == "vm":
        return importlib.import_module("tessera.relay.backend.vm").VMExecutor(mod, device, target)
    if kind == "aot":
        raise NotImplementedError('relay.create_executor("aot") is not there yet; "graph" runs the same programs')
    raise RuntimeError(f"unknown execution strategy: {kind}")


def _targets(target: Any, host: Any = None) -> list[Target]:
    """The targets of a build: one, a list, or a dictionary by device (a `Device`, its type as a number or name)."""
    target = target if target is not None else Target.current()
    if target is None:
        raise ValueError("Target is not set in env or passed as argument.")
    if isinstance(target, dict):
        several = []
        for device, given in target.items():
            one = Target(given)
            kind: Any = getattr(device, "device_type", device)
            kind = nd.device(kind, 0).device_type if isinstance(kind, str) else int(kind)
            if kind != one.kind.default_device_type:
                raise ValueError(f"the target {one} does not run on the device {device} that it is given for")
            several.append(one)
    else:
        several = [Target(one) for one in (target if isinstance(target, (list, tuple, Array)) else [target])]
    if not several:
        raise ValueError("relay.build needs at least one target")
    return [Target(one, host) for one in several] if host is not None else several


def _tensors(params: dict[str, Any]) -> dict[str, nd.NDArray]:
    return {
        name: value if isinstance(value, nd.NDArray) else nd.array(np.asarray(value)) for name, value in params.items()
    }
