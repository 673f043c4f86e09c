"""Programs for the example of an external code generator, "ccompiler"."""

from __future__ import annotations

from typing import Any

from ..expr import Call
from ..expr_functor import ExprMutator
from ..op.annotation import compiler_begin, compiler_end

__all__ = ["CcompilerAnnotator"]

_OPERATORS = ("add", "subtract", "multiply")


class CcompilerAnnotator(ExprMutator):
    """Marks regions for "ccompiler": trees of add, subtract and multiply, from what they read to their last result."""

    def __init__(self) -> None:
        super().__init__()
        self.in_compiler = False

    def visit_call(self, call: Call) -> Any:
        """A call of the region as it is, with marks where the region begins and ends."""
        outside = not self.in_compiler
        if getattr(call.op, "name", "") in _OPERATORS:
            args = []
            for arg in call.args:
                self.in_compiler = is_inside = getattr(getattr(arg, "op", None), "name", "") in _OPERATORS
                visited = self.visit(arg)
                args.append(visited if is_inside else compiler_begin(visited, "ccompiler"))
            out = Call(call.op, args, call.attrs)
            self.in_compiler = not outside
            return compiler_end(out, "ccompiler") if outside else out
        self.in_compiler = False
        out = super().visit_call(call)
        self.in_compiler = not outside
        return out
