"""Programs in another element type, such as one that a user named."""

from __future__ import annotations

from typing import Any

from ..expr import Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..transform import function_pass
from ..ty import TensorType, TupleType

__all__ = ["ChangeDatatype"]


@function_pass(opt_level=0)
class ChangeDatatype(ExprMutator):
    """What computes in `src` computes in `dst`: constants are cast, and variables are of the new type."""

    def __init__(self, src: str, dst: str) -> None:
        super().__init__()
        self.src, self.dst = src, dst

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        del mod, ctx
        return self.visit(func)

    def visit_constant(self, const: Any) -> Any:
        return const.astype(self.dst) if const.data.dtype == self.src else const

    def visit_var(self, var: Any) -> Any:
        if var.type_annotation is None:
            return var
        annotation = self._changed(var.type_annotation)
        return var if annotation is var.type_annotation else Var(var.name_hint, annotation)

    def visit_function(self, fn: Any) -> Any:
        params = [self.visit(param) for param in fn.params]
        return Function(params, self.visit(fn.body), self._changed(fn.ret_type), fn.type_params, fn.attrs)

    def _changed(self, given: Any) -> Any:
        """The type with tensors of `dst` for those of `src`; the very same where it has none."""
        if isinstance(given, TensorType) and given.dtype == self.src:
            return TensorType(given.shape, self.dst)
        if isinstance(given, TupleType):
            fields = [self._changed(field) for field in given.fields]
            return given if all(map(lambda a, b: a is b, fields, given.fields)) else TupleType(fields)
        return given
