"""From a Relay module to something that runs."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from .._ffi.registry import get_global_func
from ..contrib import graph_executor
from ..ir import GlobalVar
from ..ir.module import IRModule
from ..runtime import ndarray as nd
from ..target import Target
from . import ty as _ty
from .backend.executor_factory import GraphExecutorFactoryModule
from .backend.interpreter import Executor, Interpreter
from .function import Function
from .transform import InferType

__all__ = ["GraphExecutor", "bind_params_by_name", "build", "create_executor", "optimize"]


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
) -> GraphExecutorFactoryModule:
    """Compiles the function "main" of `ir_mod`; `lib["default"](device)` gives an executor of the result."""
    del runtime, workspace_memory_pools, constant_memory_pools
    if not isinstance(ir_mod, (IRModule, Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    if isinstance(ir_mod, Function):
        warnings.warn("Please use input parameter mod (tvm.IRModule) instead of a function", DeprecationWarning, 2)
        ir_mod = IRModule.from_expr(ir_mod)
    where = _target(target, target_host)
    built = get_global_func("relay.build_module.build_graph")(ir_mod, where, _tensors(params or {}), mod_name)
    return GraphExecutorFactoryModule(
        built["mod"], where, executor, str(built["graph_json"]), built["lib"], mod_name, dict(built["params"].items())
    )


def optimize(
    mod: IRModule, target: Any = None, params: dict[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The module after the graph passes of `build`."""
    mod = IRModule(dict(mod.functions.items()), dict(mod.type_definitions.items()))
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    return get_global_func("relay.build_module.optimize")(mod, _target(target, None)), {}


class GraphExecutor(Executor):
    """Runs functions as compiled graphs: static shapes, no control flow."""

    def __init__(self, mod: Any, device: Any, target: Any):
        self.mod = mod if mod is not None else IRModule()
        self.device = device
        self.target = target

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        if expr is not None:
            self.mod["main"] = self.mod[expr] if isinstance(expr, GlobalVar) else expr
        self.mod = InferType()(self.mod)
        main = self.mod["main"]
        result_type = main.checked_type.ret_type
        if _ty.is_dynamic(result_type):
            raise ValueError("Graph Executor only supports static graphs, got output type", result_type)
        module = graph_executor.GraphModule(build(self.mod, target=self.target)["default"](self.device))

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
    target = _target(target, None)
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


def _target(target: Any, host: Any) -> Target:
    target = target if target is not None else Target.current()
    if target is None:
        raise ValueError("Target is not set in env or passed as argument.")
    if isinstance(target, dict):
        if len(target) != 1:
            raise NotImplementedError("relay.build: models over several devices are not supported yet")
        target = next(iter(target.values()))
    if isinstance(target, (list, tuple)):
        if len(target) != 1:
            raise NotImplementedError("relay.build: models over several devices are not supported yet")
        target = target[0]
    return Target(target, host) if host is not None else Target(target)


def _tensors(params: dict[str, Any]) -> dict[str, nd.NDArray]:
    return {
        name: value if isinstance(value, nd.NDArray) else nd.array(np.asarray(value)) for name, value in params.items()
    }
