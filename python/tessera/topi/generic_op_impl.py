"""Arithmetic on tensors: `A + B` means topi.add(A, B) once topi is imported."""

from __future__ import annotations

from typing import Any, Callable

from tessera import te, tir
from tessera.runtime import convert
from tessera.tir import generic

from . import broadcast, math


def _is_inside_compute(value: Any) -> bool:
    """An element at indices with variables: it belongs to the compute that has them, as does what is made of it."""
    if not isinstance(value, te.TensorSlice):
        return False
    indices = convert(value.indices)
    return any(not isinstance(index, tir.IntImm) for index in indices)


def _with_tensors(on_tensors: Callable, on_expressions: Callable) -> Callable:
    def operate(lhs: Any, rhs: Any, span: Any = None) -> Any:
        has_tensor = isinstance(lhs, te.Tensor) or isinstance(rhs, te.Tensor)
        if has_tensor and not _is_inside_compute(lhs) and not _is_inside_compute(rhs):
            return on_tensors(lhs, rhs)
        return on_expressions(lhs, rhs, span)

    return operate


def bind_generic_ops() -> None:
    """Puts the tensor versions in front of the expression versions; called once, when topi is imported."""
    generic.add = _with_tensors(broadcast.add, generic.add)
    generic.subtract = _with_tensors(broadcast.subtract, generic.subtract)
    generic.multiply = _with_tensors(broadcast.multiply, generic.multiply)
    generic.divide = _with_tensors(broadcast.divide, generic.divide)
    on_expressions = generic.cast

    def cast(src: Any, dtype: str, span: Any = None) -> Any:
        return math.cast(src, dtype) if isinstance(src, te.Tensor) else on_expressions(src, dtype, span)

    generic.cast = cast
