"""Helpers for tests of memory planning."""

from __future__ import annotations

from typing import Any

from ..ir import IRModule
from ..tir import Call, PrimFunc
from ..tir.stmt_functor import post_order_visit

__all__ = ["is_tvm_backendallocworkspace_calls"]


def is_tvm_backendallocworkspace_calls(mod: IRModule) -> bool:
    """True when a function of the module still asks the runtime for memory (TVMBackendAllocWorkspace)."""
    found = False

    def visit(node: Any) -> None:
        nonlocal found
        found |= isinstance(node, Call) and getattr(node.op, "name", "") == "tir.TVMBackendAllocWorkspace"

    for function in mod.functions.values():
        if isinstance(function, PrimFunc):
            post_order_visit(function.body, visit)
    return found
