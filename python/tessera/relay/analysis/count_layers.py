"""How deep a model is, by operators that count."""

from __future__ import annotations

from typing import Any

from ...ir import Op
from ..expr import Call
from ..expr_functor import ExprVisitor
from .analysis import count_layers

__all__ = ["LayerCounter", "count_layers"]


class LayerCounter(ExprVisitor):
    """Counts calls of `valid_ops` on the longest way through what is visited: `count()`."""

    def __init__(self, valid_ops: Any) -> None:
        super().__init__()
        self.valid_ops = [str(getattr(op, "name", op)) for op in valid_ops]
        self.depth_count = 0

    def visit_call(self, call: Call) -> None:
        """The depth of a call is that of its deepest argument, and one more where it counts."""
        deepest = 0
        for argument in call.args:
            inner = LayerCounter(self.valid_ops)
            inner.visit(argument)
            deepest = max(deepest, inner.depth_count)
        own = isinstance(call.op, Op) and call.op.name in self.valid_ops
        self.depth_count = max(self.depth_count, deepest + int(own))

    def count(self) -> int:
        """The number of layers."""
        return self.depth_count
