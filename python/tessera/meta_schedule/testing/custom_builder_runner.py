"""Builders and runners of one's own, for tasks that are whole models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import IRModule
from ...runtime import Device, Module
from ...target import Target
from ..runner import EvaluatorConfig, RPCConfig

__all__ = ["build_relay", "build_relay_with_tensorrt", "run_module_via_rpc", "run_with_graph_executor"]


def build_relay(mod: IRModule, target: Target, params: dict[str, Any]) -> Module:
    """The library of a model."""
    from ... import relay

    return relay.build(mod, target=target, params=dict(params or {})).get_lib()


def build_relay_with_tensorrt(mod: IRModule, target: Target, params: dict[str, Any]) -> Module:
    """The library of a model, parts of it by TensorRT; it says what is missing where that is not there."""
    from ... import relay
    from ...ir.transform import PassContext
    from ...relay.op.contrib import tensorrt

    mod = tensorrt.partition_for_tensorrt(mod, params)
    if isinstance(mod, tuple):
        mod = mod[0]
    with PassContext(opt_level=3):
        return relay.build(mod, target=target, params=params).get_lib()


def run_with_graph_executor(
    rt_mod: Module, device: Device, evaluator_config: EvaluatorConfig, repeated_args: list[Any]
) -> list[float]:
    """Seconds of each repeat of a model."""
    from ...contrib.graph_executor import GraphModule

    graph_mod = GraphModule(rt_mod["default"](device))
    evaluator = graph_mod.module.time_evaluator(
        func_name="run",
        dev=device,
        number=evaluator_config.number,
        repeat=evaluator_config.repeat,
        min_repeat_ms=evaluator_config.min_repeat_ms,
    )
    costs: list[float] = []
    for args in repeated_args:
        for i, arg in enumerate(args):
            graph_mod.set_input(i, arg)
        costs.extend(float(each) for each in evaluator().results)
    return costs


def run_module_via_rpc(
    rpc_config: RPCConfig,
    lib: Any,
    dev_type: str,
    args: dict[int, Any] | dict[str, Any],
    continuation: Callable[..., Any],
    backend: str = "graph",
) -> Any:
    """Uploads a library to a server, and calls `continuation(library, device, arguments)` with it there."""
    import os
    import tempfile

    from ... import nd

    with tempfile.TemporaryDirectory() as folder:
        name = "tvm_tmp_mod.tar"
        path = os.path.join(folder, name)
        if backend == "vm":
            code, lib = lib.save()
            lib.export_library(path)
        else:
            lib.export_library(path)
        session = rpc_config.connect_server()
        dev = session.device(dev_type, 0)
        session.upload(path, target=name)
        loaded = session.load_module(name)
        if backend == "vm":
            from ...runtime.vm import Executable

            loaded = Executable.load_exec(code, loaded)
        there = {key: nd.array(value, dev) for key, value in args.items()}
        return continuation(loaded, dev, there)
