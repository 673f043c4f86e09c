"""Models cut for cuBLAS: matmuls."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule
from ...dataflow_pattern import is_op, wildcard
from ._partition import bound, partition
from .register import get_pattern_table, register_pattern_table

__all__ = ["partition_for_cublas", "pattern_table"]

_TYPES = {("float16", "float16"), ("float32", "float32"), ("float64", "float64"), ("int8", "int8")}


def _is_taken(call: Any) -> bool:
    """Both operands of one type that cuBLAS multiplies, into a type that it gives; one matrix, or batches of them."""
    left, right = (arg.checked_type for arg in call.args)
    if (left.dtype, right.dtype) not in _TYPES:
        return False
    out = call.checked_type.dtype
    if left.dtype == "int8":
        return out == "int32"
    return out in (left.dtype, "float32")


@register_pattern_table("cublas")
def pattern_table() -> list[tuple]:
    """(name, pattern, check) of what cuBLAS takes."""
    names = {"matmul": "nn.matmul", "batch_matmul": "nn.batch_matmul", "dense": "nn.dense"}
    return [(f"cublas.{name}", is_op(op)(wildcard(), wildcard()), _is_taken) for name, op in names.items()]


def partition_for_cublas(mod: IRModule, params: Any = None) -> IRModule:
    """The module with what cuBLAS takes in functions of their own."""
    return partition(bound(mod, params), "cublas", get_pattern_table("cublas"))
