"""Commutative reductions: `sum`, `min`, `max`, and how to make more."""

from __future__ import annotations

from typing import Any, Callable

from ..ir import Array, PrimExpr
from ..runtime.object_generic import const, convert
from . import _ffi_api
from .expr import CommReducer, IterVar, Reduce, Var
from .op import max_value, min_value

__all__ = ["comm_reducer", "max", "min", "sum"]


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reduction from a commutative combination and its neutral element.

    The result is called as ``reducer(expr, axis, where=None, init=None)``, or on plain expressions, which it combines:
    ``reducer(a, b, c)``. With a tuple of expressions both functions work on tuples, and a tuple comes back.
    """
    lhs_name, rhs_name = fcombine.__code__.co_varnames[:2]

    def reducer(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
        if isinstance(axis, (IterVar, list, tuple)):
            assert not args, f"{name} over axes takes expr, axis, where and init"
            return reduce_over(convert(expr), axis, where, init)
        rest = [operand for operand in (where, init, *args) if operand is not None]
        out = fcombine(expr, axis)
        for operand in rest:
            out = fcombine(out, operand)
        return out

    def reduce_over(expr: Any, axis: Any, where: Any, init: Any) -> Any:
        is_tuple = isinstance(expr, Array)
        source = list(expr) if is_tuple else [expr]
        for part in source:
            assert isinstance(part, PrimExpr), f"{name} reduces expressions, not {part!r}"
        dtypes = [part.dtype for part in source]
        suffixes = [f"_{i}" for i in range(len(source))] if is_tuple else [""]
        lhs = [Var(lhs_name + suffix, dtype) for suffix, dtype in zip(suffixes, dtypes)]
        rhs = [Var(rhs_name + suffix, dtype) for suffix, dtype in zip(suffixes, dtypes)]
        result = fcombine(lhs, rhs) if is_tuple else [fcombine(lhs[0], rhs[0])]
        identity = fidentity(*dtypes) if is_tuple else [fidentity(dtypes[0])]
        combiner = CommReducer(lhs, rhs, result, identity)
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        condition = const(True, "bool") if where is None else where
        start = [] if init is None else list(convert(init)) if is_tuple else [init]
        parts = tuple(Reduce(combiner, source, axes, condition, i, start) for i in range(len(source)))
        return parts if len(parts) > 1 else parts[0]

    reducer.__name__ = name
    reducer.__doc__ = f"""The {name} of `expr` over `axis`, counting only where `where` holds, from `init` on.

    `axis` is one reduction axis or a list of them. Called with plain expressions, it combines them.
    """
    return reducer


sum = comm_reducer(lambda x, y: x + y, lambda t: const(0, dtype=t), name="sum")
min = comm_reducer(lambda x, y: _ffi_api._OpMin(x, y, None), max_value, name="min")
max = comm_reducer(lambda x, y: _ffi_api._OpMax(x, y, None), min_value, name="max")
