"""Walks over Relay in Python: a method per kind of expression, each expression visited once."""

from __future__ import annotations

from typing import Any

from ..ir import Constructor, GlobalVar, Op
from .adt import Clause, Match
from .expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Function, FunctionWithFields

__all__ = ["ExprFunctor", "ExprMutator", "ExprVisitor"]


class ExprFunctor:
    """Answers `visit(expr)` by the method for its kind, and remembers the answer."""

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}

    def visit(self, expr: Any) -> Any:
        """The answer for an expression, worked out the first time it is asked for."""
        if expr in self.memo_map:
            return self.memo_map[expr]
        for kind, method in _METHODS:
            if isinstance(expr, kind):
                result = getattr(self, method)(expr)
                break
        else:
            raise Exception(f"warning unhandled case: {type(expr)}")
        self.memo_map[expr] = result
        return result

    def visit_function(self, _: Function) -> Any:
        raise NotImplementedError()

    def visit_let(self, _: Let) -> Any:
        raise NotImplementedError()

    def visit_call(self, _: Call) -> Any:
        raise NotImplementedError()

    def visit_var(self, _: Var) -> Any:
        raise NotImplementedError()

    def visit_type(self, typ: Any) -> Any:
        return typ

    def visit_if(self, _: If) -> Any:
        raise NotImplementedError()

    def visit_tuple(self, _: Tuple) -> Any:
        raise NotImplementedError()

    def visit_tuple_getitem(self, _: TupleGetItem) -> Any:
        raise NotImplementedError()

    def visit_global_var(self, _: GlobalVar) -> Any:
        raise NotImplementedError()

    def visit_op(self, _: Op) -> Any:
        raise NotImplementedError()

    def visit_constant(self, _: Constant) -> Any:
        raise NotImplementedError()

    def visit_ref_create(self, _: RefCreate) -> Any:
        raise NotImplementedError()

    def visit_ref_write(self, _: RefWrite) -> Any:
        raise NotImplementedError()

    def visit_ref_read(self, _: RefRead) -> Any:
        raise NotImplementedError()

    def visit_constructor(self, _: Constructor) -> Any:
        raise NotImplementedError()

    def visit_match(self, _: Match) -> Any:
        raise NotImplementedError()


_METHODS = (
    (Function, "visit_function"),
    (Call, "visit_call"),
    (Let, "visit_let"),
    (Var, "visit_var"),
    (GlobalVar, "visit_global_var"),
    (If, "visit_if"),
    (Tuple, "visit_tuple"),
    (TupleGetItem, "visit_tuple_getitem"),
    (Constant, "visit_constant"),
    (Op, "visit_op"),
    (RefCreate, "visit_ref_create"),
    (RefRead, "visit_ref_read"),
    (RefWrite, "visit_ref_write"),
    (Constructor, "visit_constructor"),
    (Match, "visit_match"),
)


class ExprVisitor(ExprFunctor):
    """Visits all parts; override the methods of the kinds of interest."""

    def visit_tuple(self, tup: Tuple) -> Any:
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call: Call) -> Any:
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var: Var) -> Any:
        pass

    def visit_let(self, let: Let) -> Any:
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn: Function) -> Any:
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i: If) -> Any:
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv: GlobalVar) -> Any:
        pass

    def visit_constructor(self, c: Constructor) -> Any:
        pass

    def visit_op(self, op: Op) -> Any:
        pass

    def visit_constant(self, const: Constant) -> Any:
        pass

    def visit_ref_create(self, r: RefCreate) -> Any:
        self.visit(r.value)

    def visit_ref_read(self, r: RefRead) -> Any:
        self.visit(r.ref)

    def visit_ref_write(self, r: RefWrite) -> Any:
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        self.visit(t.tuple_value)

    def visit_match(self, m: Match) -> Any:
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor):
    """Rebuilds an expression from its visited parts; override the methods of the kinds to change."""

    def visit_function(self, fn: Function) -> Any:
        params = [self.visit(param) for param in fn.params]
        return FunctionWithFields(fn, list(params), self.visit(fn.body))

    def visit_let(self, let: Let) -> Any:
        return Let(self.visit(let.var), self.visit(let.value), self.visit(let.body))

    def visit_call(self, call: Call) -> Any:
        op = self.visit(call.op)
        args = [self.visit(arg) for arg in call.args]
        return Call(op, args, call.attrs, call.type_args, call.span)

    def visit_var(self, var: Var) -> Any:
        return var

    def visit_global_id(self, global_var: GlobalVar) -> Any:
        return global_var

    def visit_if(self, ite: If) -> Any:
        return If(self.visit(ite.cond), self.visit(ite.true_branch), self.visit(ite.false_branch))

    def visit_tuple(self, tup: Tuple) -> Any:
        return Tuple([self.visit(field) for field in tup.fields], tup.span)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        tuple_value = self.visit(op.tuple_value)
        return op if tuple_value.same_as(op.tuple_value) else TupleGetItem(tuple_value, op.index)

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        return gvar

    def visit_op(self, op: Op) -> Any:
        return op

    def visit_constant(self, const: Constant) -> Any:
        return const

    def visit_constructor(self, con: Constructor) -> Any:
        return con

    def visit_match(self, m: Match) -> Any:
        clauses = [Clause(clause.lhs, self.visit(clause.rhs)) for clause in m.clauses]
        return Match(self.visit(m.data), clauses, complete=m.complete)

    def visit_ref_create(self, r: RefCreate) -> Any:
        return RefCreate(self.visit(r.value))

    def visit_ref_write(self, r: RefWrite) -> Any:
        return RefWrite(self.visit(r.ref), self.visit(r.value))

    def visit_ref_read(self, r: RefRead) -> Any:
        return RefRead(self.visit(r.ref))
