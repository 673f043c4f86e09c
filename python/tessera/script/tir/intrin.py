"""Functions of scripts that give a value, as functions of expressions: `intrin.floordiv(x, 4)` outside a script is what
`T.floordiv(x, 4)` is inside. `span` is where the value is written."""

from __future__ import annotations

import builtins
from typing import Any, Callable

from ... import ir, tir
from ...runtime.object_generic import convert

__all__ = [
    "Let",
    "Select",
    "abs",
    "bool",
    "broadcast",
    "cast",
    "ceildiv",
    "comm_reducer",
    "floordiv",
    "floormod",
    "get_axis",
    "iter_var",
    "llvm_lookup_intrinsic_id",
    "load",
    "max",
    "max_value",
    "min",
    "min_value",
    "opaque_axis",
    "ramp",
    "range",
    "reduce_axis",
    "scan_axis",
    "truncdiv",
    "truncmod",
]


def bool(imm: Any, span: Any = None) -> Any:
    """A constant of type bool."""
    return tir.IntImm("bool", builtins.bool(imm), span)


def cast(value: Any, dtype: str, span: Any = None) -> Any:
    """The value as another type."""
    return tir.Cast(dtype, convert(value), span)


def broadcast(value: Any, lanes: int, span: Any = None) -> Any:
    """A vector of equal elements."""
    return tir.Broadcast(value, int(lanes), span)


def ramp(base: Any, stride: Any, lanes: int, span: Any = None) -> Any:
    """base, base + stride, base + 2 * stride, ..."""
    return tir.Ramp(base, stride, int(lanes), span)


def floordiv(x: Any, y: Any, span: Any = None) -> Any:
    """The quotient, rounded down."""
    return tir.floordiv(x, y, span)


def floormod(x: Any, y: Any, span: Any = None) -> Any:
    """What is left of `x` behind multiples of `y`, of the sign of `y`."""
    return tir.floormod(x, y, span)


def truncdiv(x: Any, y: Any, span: Any = None) -> Any:
    """The quotient, rounded to zero."""
    return tir.truncdiv(x, y, span)


def truncmod(x: Any, y: Any, span: Any = None) -> Any:
    """What is left of `x` behind multiples of `y`, of the sign of `x`."""
    return tir.truncmod(x, y, span)


def ceildiv(x: Any, y: Any, span: Any = None) -> Any:
    """The quotient, rounded up."""
    return tir.ceildiv(x, y, span)


def abs(x: Any, span: Any = None) -> Any:
    """The absolute value."""
    return tir.abs(x, span)


def max(a: Any, b: Any, span: Any = None) -> Any:
    """The greater of two values."""
    return tir.max(a, b, span)


def min(a: Any, b: Any, span: Any = None) -> Any:
    """The less of two values."""
    return tir.min(a, b, span)


def max_value(dtype: str, span: Any = None) -> Any:
    """The greatest value of a type."""
    return tir.max_value(dtype, span)


def min_value(dtype: str, span: Any = None) -> Any:
    """The least value of a type."""
    return tir.min_value(dtype, span)


def Select(cond: Any, if_body: Any, else_body: Any, span: Any = None) -> Any:
    """One of two values, both of which may be computed."""
    return tir.Select(cond, if_body, else_body, span)


def Let(var: Any, value: Any, body: Any, span: Any = None) -> Any:
    """`body`, in which `var` is `value`."""
    return tir.Let(var, value, body, span)


def load(dtype: str, var: Any, index: Any, predicate: Any = None, span: Any = None) -> Any:
    """The element of bare memory at an index."""
    if predicate is not None:
        raise ValueError("load: a predicate is not taken; choose with if_then_else")
    extent = index + 1 if not isinstance(index, tir.Ramp) else index.base + index.lanes
    return tir.BufferLoad(tir.decl_buffer((extent,), dtype.split("x")[0], data=var), [index], span)


def llvm_lookup_intrinsic_id(name: str, span: Any = None) -> int:
    """The number that LLVM has for an intrinsic of its."""
    from ...target.codegen import llvm_lookup_intrinsic_id as lookup

    return lookup(name)


def range(begin: Any, end: Any, span: Any = None) -> Any:
    """The integers from `begin` up to `end`, without it."""
    return ir.Range(begin, end)


def get_axis(begin: Any, end: Any, iter_type: str, span: Any = None) -> Any:
    """An axis of a block: "data_parallel", "reduce", "scan" or "opaque"."""
    kinds = {"data_parallel": 0, "reduce": 2, "scan": 3, "opaque": 4}
    if iter_type not in kinds:
        raise ValueError(f'an axis is {", ".join(kinds)}, not "{iter_type}"')
    name = {"reduce": "vr", "scan": "vs", "opaque": "vo"}.get(iter_type, "v")
    return tir.IterVar(ir.Range(begin, end), name, kinds[iter_type], "", span)


def reduce_axis(begin: Any, end: Any, span: Any = None) -> Any:
    """An axis that is reduced over."""
    return get_axis(begin, end, "reduce", span)


def scan_axis(begin: Any, end: Any, span: Any = None) -> Any:
    """An axis whose iterations follow one another."""
    return get_axis(begin, end, "scan", span)


def opaque_axis(begin: Any, end: Any, span: Any = None) -> Any:
    """An axis of which nothing is known."""
    return get_axis(begin, end, "opaque", span)


def iter_var(var: Any, dom: Any, iter_type: str, thread_tag: str, span: Any = None) -> Any:
    """An iteration variable; `iter_type` is "DataPar", "ThreadIndex", "CommReduce" or "Opaque", among others."""
    return tir.IterVar(dom, var, getattr(tir.IterVar, iter_type), thread_tag, span)


def comm_reducer(lambda_io: Any, identities: Any, span: Any = None) -> Any:
    """A combiner of values and what each starts from. `lambda_io` are its parameters and results, in two lists."""
    inputs, outputs = lambda_io
    half = len(inputs) // 2
    return tir.CommReducer(inputs[:half], inputs[half:], outputs, identities, span)


class Intrin:
    """A function that scripts call by its name."""

    def __init__(self, intrin: Callable[..., Any], stmt: Any = False):
        self.intrin, self.stmt = intrin, stmt

    def signature(self) -> tuple:
        """Its name in scripts, and its parameters."""
        import inspect

        return "tir." + self.intrin.__name__, inspect.signature(self.intrin)

    def handle(self, arg_list: list, span: Any) -> Any:
        """What it gives for arguments."""
        return self.intrin(*arg_list, span=span)
