"""Loops, which in Relay are recursive functions."""

from __future__ import annotations

from typing import Any, Callable

from .expr import Call, Expr, Let, Tuple, var
from .function import Function
from .scope_builder import ScopeBuilder

__all__ = ["while_loop"]


def while_loop(cond: Callable[..., Any], loop_vars: list[Any], loop_bodies: Callable[..., Any]) -> Any:
    """A tail-recursive function of the values of `loop_vars`, which returns their last values as a tuple.

    `cond(*vars)` says whether to go on; `loop_bodies(*vars)` gives the next values.
    """
    builder = ScopeBuilder()
    loop = var("while_loop")
    fresh_vars = []
    for i, loop_var in enumerate(loop_vars):
        name = loop_var.name_hint if hasattr(loop_var, "name_hint") else f"arg{i}"
        fresh_vars.append(var(name, type_annotation=builder.type_of(loop_var)))
    with builder.if_scope(cond(*fresh_vars)):
        builder.ret(Call(loop, loop_bodies(*fresh_vars)))
    with builder.else_scope():
        builder.ret(Tuple(fresh_vars))
    func: Expr = Function(fresh_vars, builder.get())
    return Let(loop, func, loop)
