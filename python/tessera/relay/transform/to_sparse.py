"""DenseToSparse and Conv2dToSparse: layers of named weights become layers of sparse matrices in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import Op
from ...ir.transform import Pass
from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..op._make import call_op
from ..ty import TensorType
from .transform import function_pass

__all__ = ["Conv2dToSparse", "DenseToSparse"]

_Layer = Callable[[Any, list[Var]], Any]


class _Rewriter(ExprMutator):
    def __init__(self, operator: str, shapes: dict[str, list[int]], layer: _Layer):
        super().__init__()
        self.operator, self.shapes, self.layer = operator, shapes, layer
        self.made: dict[str, list[Var]] = {}

    def visit_call(self, call: Call) -> Any:
        """The layer over `weight.data`, `weight.indices` and `weight.indptr`."""
        out = super().visit_call(call)
        is_layer = isinstance(call.op, Op) and call.op.name == self.operator and isinstance(call.args[1], Var)
        name = str(call.args[1].name_hint) if is_layer else ""
        if name not in self.shapes:
            return out
        if name not in self.made:
            *data, indices, indptr = self.shapes[name]
            kinds = {"data": (data, "float32"), "indices": ([indices], "int32"), "indptr": ([indptr], "int32")}
            self.made[name] = [Var(f"{name}.{end}", TensorType(*kind)) for end, kind in kinds.items()]
        return self.layer(out.args[0], self.made[name])


def _to_sparse(
    title: str, operator: str, weight_name: Sequence[str], weight_shape: Sequence[Any], layer: _Layer
) -> Pass:
    shapes = {str(name): [int(extent) for extent in shape] for name, shape in zip(weight_name, weight_shape)}

    @function_pass(opt_level=1, name=title)
    def change(function: Any, mod: Any, context: Any) -> Any:
        del mod, context
        rewriter = _Rewriter(operator, shapes, layer)
        body = rewriter.visit(function.body)
        if not rewriter.made:
            return function
        params: list[Any] = []
        for param in function.params:
            params += rewriter.made.get(str(param.name_hint), [param])
        return Function(params, body, None, function.type_params, function.attrs)

    return change


def DenseToSparse(weight_name: Sequence[str], weight_shape: Sequence[Any]) -> Pass:
    """Makes `nn.dense` of those weights `nn.sparse_dense` of parameters `name.data`, `name.indices` and `name.indptr`.

    Of each weight, `weight_shape` has five extents: three of the blocks, one of their columns and one of the rows' beginnings.
    """
    from ..op.nn.sparse import sparse_dense

    return _to_sparse("DenseToSparse", "nn.dense", weight_name, weight_shape, sparse_dense)


def Conv2dToSparse(weight_name: Sequence[str], weight_shape: Sequence[Any], layout: str, kernel_size: int) -> Pass:
    """Makes `nn.conv2d` of those weights `nn.sparse_conv2d`, as DenseToSparse does with linear layers.

    They have stride 1, one group and padding that keeps the size, as `relay.analysis.sparse_conv2d` finds them.
    """

    def sparse_conv2d(data: Any, weight: list[Var]) -> Any:
        return call_op("nn.sparse_conv2d", [data, *weight], {"layout": layout, "kernel_size": [kernel_size] * 2})

    return _to_sparse("Conv2dToSparse", "nn.conv2d", weight_name, weight_shape, sparse_conv2d)
