"""Building programs of lets and ifs line by line."""

from __future__ import annotations

from typing import Any

from ..tir.ir_builder import WithScope
from . import expr as _expr
from . import ty as _ty

__all__ = ["ScopeBuilder", "WithScope"]


class ScopeBuilder:
    """Collects bindings and at last a result::

    sb = relay.ScopeBuilder()
    with sb.if_scope(cond):
        sb.ret(relay.const(1))
    with sb.else_scope():
        sb.ret(relay.const(2))
    body = sb.get()
    """

    def __init__(self) -> None:
        self._bindings: list[list[tuple[Any, Any]]] = [[]]
        self._ret_values: list[Any] = [None]

    def _enter_scope(self) -> None:
        self._bindings.append([])
        self._ret_values.append(None)

    def _exit_scope(self) -> tuple[list[tuple[Any, Any]], Any]:
        return self._bindings.pop(), self._ret_values.pop()

    @staticmethod
    def _build(bindings: list[tuple[Any, Any]], result: Any) -> Any:
        body = result
        for variable, value in reversed(bindings):
            body = _expr.Let(variable, value, body)
        return body

    def let(self, var: Any, value: Any) -> Any:
        """Binds `value` to a variable, made of a name if need be, which is returned."""
        if isinstance(var, (tuple, list)):
            if len(var) > 2:
                raise ValueError("Expect var to be Tuple[str, type]")
            var = _expr.var(*var)
        elif isinstance(var, str):
            var = _expr.var(var)
        self._bindings[-1].append((var, value))
        return var

    def if_scope(self, cond: Any) -> WithScope:
        """The branch taken when `cond` is true; else_scope follows."""
        self._enter_scope()

        def leave() -> None:
            bindings, result = self._exit_scope()
            if self._ret_values[-1] is not None:
                raise RuntimeError("result already returned before if scope")
            true_branch = self._build(bindings, result)
            self._ret_values[-1] = _expr.If(cond, true_branch, _expr.var("otherwise"))

        return WithScope(None, leave)

    def else_scope(self) -> WithScope:
        """The branch taken when the condition of the if_scope before it is false."""
        self._enter_scope()

        def leave() -> None:
            bindings, result = self._exit_scope()
            partial_if = self._ret_values[-1]
            if not isinstance(partial_if, _expr.If):
                raise RuntimeError("else scope must follows")
            false_branch = self._build(bindings, result)
            self._ret_values[-1] = _expr.If(partial_if.cond, partial_if.true_branch, false_branch)

        return WithScope(None, leave)

    def type_of(self, expr: Any) -> Any:
        """The type of an expression: as annotated, as inferred, or a hole."""
        if isinstance(expr, _expr.Var):
            return expr.type_annotation
        found = expr._checked_type_
        return found if found is not None else _ty.IncompleteType()

    def ret(self, value: Any) -> None:
        """Sets the result of the scope."""
        if self._ret_values[-1] is not None:
            raise RuntimeError("ret value is already set in this scope.")
        self._ret_values[-1] = value

    def get(self) -> Any:
        """The program that was built."""
        if len(self._bindings) != 1:
            raise RuntimeError("can only call get at the outmost scope")
        if self._ret_values[-1] is None:
            raise RuntimeError("no return value set")
        return self._build(self._bindings[-1], self._ret_values[-1])
