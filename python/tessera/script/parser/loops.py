"""Loops of scripts: T.serial(8), T.grid(4, 4), T.thread_binding(32, thread="threadIdx.x"), ..."""

from __future__ import annotations

import ast
from typing import Any

from tessera import tir
from tessera.script.parser import intrinsics
from tessera.script.parser.regions import length_between

_KINDS = {
    "serial": tir.ForKind.SERIAL,
    "range": tir.ForKind.SERIAL,
    "for_range": tir.ForKind.SERIAL,
    "parallel": tir.ForKind.PARALLEL,
    "vectorized": tir.ForKind.VECTORIZED,
    "unroll": tir.ForKind.UNROLLED,
    "thread_binding": tir.ForKind.THREAD_BINDING,
}


class Loops:
    """A nest of loops: the (min, extent) of each, outermost first, and what they share."""

    def __init__(self, ranges: list, kind: Any, thread_binding: Any = None, annotations: dict | None = None):
        self.ranges, self.kind, self.thread_binding = ranges, kind, thread_binding
        self.annotations = annotations


def loop_of(ev: Any, call: ast.Call) -> Loops:
    """What the iterator of a `for` statement says."""
    function = ev(call.func)
    name = "range" if function is range else intrinsics.script_name(function)
    args: list = []
    for arg in call.args:
        args.extend(ev(arg.value) if isinstance(arg, ast.Starred) else [ev(arg)])
    keywords = {str(kw.arg): ev(kw.value) for kw in call.keywords}
    args += [keywords.pop(side) for side in ("begin", "end") if side in keywords]
    if name == "thread_binding" and args and isinstance(args[-1], str):
        keywords["thread"] = args.pop()
    if name == "grid" and not keywords:
        extents = [ev.as_expr(arg, call) for arg in args]
        return Loops([(tir.const(0, extent.dtype), extent) for extent in extents], tir.ForKind.SERIAL)
    if name not in _KINDS or not 1 <= len(args) <= 2:
        raise ev.source.error(call, f"a loop is over T.grid, {', '.join('T.' + kind for kind in _KINDS)}")
    low, extent = _bounds(list(ev._match(*args, call)) if len(args) == 2 else [ev.as_expr(args[0], call)])
    binding = None
    if name == "thread_binding":
        thread = keywords.pop("thread", None)
        if not isinstance(thread, str):
            raise ev.source.error(call, 'T.thread_binding needs a thread, such as thread="threadIdx.x"')
        binding = tir.IterVar(None, tir.Var("", extent.dtype), tir.IterVar.ThreadIndex, thread)
    annotations = keywords.pop("annotations", None)
    if keywords:
        raise ev.source.error(call, f"T.{name} has no argument {', '.join(keywords)}")
    return Loops([(low, extent)], _KINDS[name], binding, annotations)


def _bounds(args: list) -> tuple:
    if len(args) == 1:
        return tir.const(0, args[0].dtype), args[0]
    return args[0], length_between(*args)
