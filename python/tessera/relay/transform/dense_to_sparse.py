"""DenseToSparse: linear layers of named weights become layers of sparse matrices in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Op
from ...ir.transform import Pass
from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..ty import TensorType
from .transform import function_pass

__all__ = ["DenseToSparse"]


class _Rewriter(ExprMutator):
    def __init__(self, shapes: dict[str, list[int]]):
        super().__init__()
        self.shapes = shapes
        self.made: dict[str, list[Var]] = {}

    def visit_call(self, call: Call) -> Any:
        """The layer over `weight.data`, `weight.indices` and `weight.indptr`."""
        from ..op.nn.sparse import sparse_dense

        out = super().visit_call(call)
        is_dense = isinstance(call.op, Op) and call.op.name == "nn.dense" and isinstance(call.args[1], Var)
        name = str(call.args[1].name_hint) if is_dense else ""
        if name not in self.shapes:
            return out
        if name not in self.made:
            shape = self.shapes[name]
            kinds = {"data": (shape[:3], "float32"), "indices": (shape[3:4], "int32"), "indptr": (shape[4:5], "int32")}
            self.made[name] = [
                Var(f"{name}.{end}", TensorType(extents, dtype)) for end, (extents, dtype) in kinds.items()
            ]
        return sparse_dense(out.args[0], self.made[name])


def DenseToSparse(weight_name: Sequence[str], weight_shape: Sequence[Any]) -> Pass:
    """Makes `nn.dense` of those weights `nn.sparse_dense` of parameters `name.data`, `name.indices` and `name.indptr`.

    Of each weight, `weight_shape` has five extents: three of the blocks, one of their columns and one of the rows' beginnings.
    """
    shapes = {str(name): [int(extent) for extent in shape] for name, shape in zip(weight_name, weight_shape)}

    @function_pass(opt_level=1, name="DenseToSparse")
    def change(function: Any, mod: Any, context: Any) -> Any:
        del mod, context
        rewriter = _Rewriter(shapes)
        body = rewriter.visit(function.body)
        if not rewriter.made:
            return function
        params: list[Any] = []
        for param in function.params:
            params += rewriter.made.get(str(param.name_hint), [param])
        return Function(params, body, None, function.type_params, function.attrs)

    return change
