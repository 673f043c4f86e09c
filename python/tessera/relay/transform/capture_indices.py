"""Expressions numbered in the order of a walk, as spans that tools of partitioning read."""

from __future__ import annotations

from typing import Any

from ...ir import Op, SourceName, Span
from ...ir.transform import Pass, PassContext
from ..expr import Call, Constant, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from ..expr_functor import ExprMutator, ExprVisitor
from ..function import Function
from .transform import function_pass

__all__ = ["CapturePostDfsIndexInSpans"]


class _Order(ExprVisitor):
    """Expressions in post-order, each after its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[Any] = []
        self.parts: dict[Any, list[Any]] = {}

    def visit(self, expr: Any) -> Any:
        if expr not in self.memo_map:
            super().visit(expr)
            self.parts[expr] = _parts(expr)
            self.order.append(expr)
        return None


def _parts(expr: Any) -> list[Any]:
    if isinstance(expr, Function):
        return [*expr.params, expr.body]
    if isinstance(expr, Call):
        return [expr.op, *expr.args]
    if isinstance(expr, Let):
        return [expr.var, expr.value, expr.body]
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    if isinstance(expr, If):
        return [expr.cond, expr.true_branch, expr.false_branch]
    if isinstance(expr, RefCreate):
        return [expr.value]
    if isinstance(expr, RefRead):
        return [expr.ref]
    if isinstance(expr, RefWrite):
        return [expr.ref, expr.value]
    return []


def _dominators(order: list[Any], parts: dict[Any, list[Any]]) -> list[int]:
    """For each expression the index of the nearest one through which all its uses go; the last one is its own."""
    index = {expr: i for i, expr in enumerate(order)}
    users: list[list[int]] = [[] for _ in order]
    for i, expr in enumerate(order):
        for part in parts[expr]:
            if part in index:
                users[index[part]].append(i)
    found = list(range(len(order)))

    def common(a: int, b: int) -> int:
        while a != b:
            a, b = (found[a], b) if a < b else (a, found[b])
        return a

    for i in reversed(range(len(order) - 1)):
        if users[i]:
            best = users[i][0]
            for user in users[i][1:]:
                best = common(best, user)
            found[i] = best
        else:
            found[i] = len(order) - 1
    return found


class _Marker(ExprMutator):
    def __init__(self, spans: dict[Any, Span]):
        super().__init__()
        self.spans = spans

    def visit(self, expr: Any) -> Any:
        if expr in self.memo_map:
            return self.memo_map[expr]
        out = super().visit(expr)
        span = self.spans.get(expr)
        if span is not None:
            out = _with_span(out, span)
            self.memo_map[expr] = out
        return out


def _with_span(expr: Any, span: Span) -> Any:
    """An expression like another, with a span; kinds that are shared or have no span stay."""
    if isinstance(expr, Call):
        return Call(expr.op, expr.args, expr.attrs, expr.type_args, span)
    if isinstance(expr, Tuple):
        return Tuple(expr.fields, span)
    if isinstance(expr, TupleGetItem):
        return TupleGetItem(expr.tuple_value, expr.index, span)
    if isinstance(expr, Constant):
        return Constant(expr.data, span)
    if isinstance(expr, Let):
        return Let(expr.var, expr.value, expr.body, span)
    if isinstance(expr, If):
        return If(expr.cond, expr.true_branch, expr.false_branch, span)
    if isinstance(expr, Var):
        return Var(expr.name_hint, expr.type_annotation, span)
    if isinstance(expr, Function):
        return Function(expr.params, expr.body, expr.ret_type, expr.type_params, expr.attrs, span)
    return expr


def CapturePostDfsIndexInSpans() -> Pass:
    """Gives each expression the span "index:<its number in post-order>:<that of its dominator>"."""

    def capture(function: Function, _: Any, __: PassContext) -> Function:
        walk = _Order()
        walk.visit(function)
        dominators = _dominators(walk.order, walk.parts)
        source = SourceName("index")
        spans = {
            expr: Span(source, i, i, dominators[i], dominators[i])
            for i, expr in enumerate(walk.order)
            if not isinstance(expr, Op)
        }
        return _Marker(spans).visit(function)

    return function_pass(capture, opt_level=0, name="CapturePostDfsIndexInSpans")
