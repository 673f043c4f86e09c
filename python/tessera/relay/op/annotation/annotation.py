"""Operators that give their input and tell a pass something."""

from __future__ import annotations

from typing import Any

from ...expr import Call
from .._make import call_op

__all__ = ["checkpoint", "compiler_begin", "compiler_end", "stop_fusion"]


def stop_fusion(data: Any) -> Call:
    """The input itself; it is not fused with what uses it."""
    return call_op("annotation.stop_fusion", [data])


def checkpoint(data: Any) -> Call:
    """The input itself; gradients compute again what it is made of."""
    return call_op("annotation.checkpoint", [data])


def compiler_begin(data: Any, compiler: str) -> Call:
    """Where a region that `compiler` compiles takes an input."""
    return call_op("annotation.compiler_begin", [data], {"compiler": compiler})


def compiler_end(data: Any, compiler: str) -> Call:
    """Where a region that `compiler` compiles gives a result."""
    return call_op("annotation.compiler_end", [data], {"compiler": compiler})
