"""From a Relay module to something that runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._ffi.registry import get_global_func
from ..ir.module import IRModule
from ..runtime import ndarray as nd
from ..target import Target
from .backend.executor_factory import GraphExecutorFactoryModule
from .function import Function

__all__ = ["bind_params_by_name", "build", "optimize"]


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


def optimize(mod: IRModule, target: Any = None, params: dict[str, Any] | None = None) -> tuple[IRModule, dict[str, Any]]:
    """The module after the graph passes of `build`."""
    mod = IRModule(dict(mod.functions.items()), dict(mod.type_definitions.items()))
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    return get_global_func("relay.build_module.optimize")(mod, _target(target, None)), {}


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
