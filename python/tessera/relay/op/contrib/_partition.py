"""Models cut for external code generators, by tables of patterns."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule
from ....ir.transform import PassContext, Sequential
from ... import transform
from ...build_module import bind_params_by_name

__all__ = ["bound", "is_float", "partition", "static_shape"]


def bound(mod: IRModule, params: Any) -> IRModule:
    """The module with parameters as constants."""
    if not params:
        return mod
    out = IRModule(dict(mod.functions), dict(mod.type_definitions))
    out["main"] = bind_params_by_name(mod["main"], params)
    return out


def partition(
    mod: IRModule, compiler: str, table: Any, before: Any = (), include_non_call_ops: bool = True
) -> IRModule:
    """Pieces that fit the patterns as functions of the compiler, neighbours of one compiler in one function."""
    passes = [
        transform.InferType(),
        *before,
        transform.MergeComposite(table),
        transform.AnnotateTarget(compiler, include_non_call_ops),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
        transform.InferType(),
    ]
    with PassContext(opt_level=3):
        return Sequential(passes)(mod)


def static_shape(expr: Any) -> list[int] | None:
    """The shape of a typed expression; None where it is dynamic or no tensor."""
    try:
        return [int(extent) for extent in expr.checked_type.shape]
    except (AttributeError, TypeError, ValueError):
        return None


def is_float(expr: Any, *types: str) -> bool:
    """True when a typed expression is a tensor of one of the types, float32 and float16 where none is named."""
    return getattr(expr.checked_type, "dtype", "") in (types or ("float32", "float16"))
