"""The graph of a program and its kernels, before they become a library."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...target import Target
from ..build_module import build
from ..function import Function

__all__ = ["GraphExecutorCodegen"]


class GraphExecutorCodegen:
    """Compiles a function for the graph executor."""

    def __init__(self, mod: Any, target: Any):
        del mod  # the argument of `codegen` says what to compile
        targets = target if isinstance(target, (list, tuple, dict)) else [target]
        self.target = [Target(each) for each in (targets.values() if isinstance(targets, dict) else targets)]

    def codegen(self, ir_module: IRModule, func: Function) -> tuple[str, dict[Target, Any], dict[str, Any]]:
        """The graph as JSON, the kernels of the target, and the parameters."""
        mod = ir_module if isinstance(ir_module, IRModule) else IRModule.from_expr(func)
        if not mod.functions:
            mod = IRModule.from_expr(func)
        factory: Any = build(mod, target=self.target[0])
        return factory.get_graph_json(), {self.target[0]: factory.get_lib()}, dict(factory.get_params())
