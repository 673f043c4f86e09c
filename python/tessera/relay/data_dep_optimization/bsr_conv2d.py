"""Convolutions whose weights are mostly zeros, with sparse weights in blocks."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule, Op
from .. import transform
from ..analysis import free_vars
from ..analysis.sparse_conv2d import process_params
from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..op._make import call_op
from ..ty import TensorType

__all__ = ["convert", "convert2"]


class _Converter(ExprMutator):
    def __init__(self, params: dict[str, Any], names: Any, layout: str, kernel_size: int):
        super().__init__()
        self.params, self.names, self.layout, self.kernel_size = params, set(names), layout, kernel_size

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        is_conv = isinstance(call.op, Op) and call.op.name == "nn.conv2d" and isinstance(call.args[1], Var)
        name = str(call.args[1].name_hint) if is_conv else ""
        if name not in self.names:
            return out
        parts = [self.params[f"{name}.{end}"] for end in ("data", "indices", "indptr")]
        variables = [
            Var(f"{name}.{end}", TensorType(list(part.shape), str(part.dtype)))
            for end, part in zip(("data", "indices", "indptr"), parts)
        ]
        attrs = {"layout": self.layout, "kernel_size": [self.kernel_size] * 2}
        return call_op("nn.sparse_conv2d", [out.args[0], *variables], attrs)


class _Checked(ExprMutator):
    """Finds the convolutions that `nn.sparse_conv2d` can be: stride 1, padding that keeps the size, one group."""

    def __init__(self, layout: str, kernel_size: int):
        super().__init__()
        self.layout, self.kernel_size = layout, kernel_size
        self.unfit: set[Any] = set()

    def visit_call(self, call: Call) -> Any:
        if isinstance(call.op, Op) and call.op.name == "nn.conv2d" and isinstance(call.args[1], Var):
            attrs = call.attrs
            numbers = [int(x) for x in (*attrs.strides, *attrs.dilation)]
            pads = [int(x) for x in attrs.padding]
            fits = (
                all(number == 1 for number in numbers)
                and all(pad == self.kernel_size // 2 for pad in pads)
                and int(attrs.groups) == 1
                and str(attrs.data_layout) == self.layout
            )
            if not fits:
                self.unfit.add(str(call.args[1].name_hint))
        return super().visit_call(call)


def convert(
    func: Any,
    params: dict[str, Any],
    blocksize: Any,
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Any, dict[str, Any]]:
    """A function whose convolutions of that kernel size are sparse where their weights, in blocks, are zero to at least the
    threshold; and its parameters."""
    checked = _Checked(layout, kernel_size)
    checked.visit(func)
    kept = {name: value for name, value in params.items() if name in checked.unfit}
    left = {name: value for name, value in params.items() if name not in checked.unfit}
    found = process_params(func, left, blocksize, sparsity_threshold, layout, kernel_size)
    left.update(kept)
    body = _Converter(left, found.weight_name, layout, kernel_size).visit(func.body)
    function = Function(free_vars(body), body, None, func.type_params)
    used = {param.name_hint for param in function.params}
    typed = transform.InferType()(IRModule.from_expr(function))["main"]
    return typed, {name: value for name, value in left.items() if name in used}


def convert2(
    func: Any, params: dict[str, Any], blocksize: Any, sparsity_threshold: float, layout: str, kernel_size: int
) -> tuple[Any, dict[str, Any]]:
    """`convert`, with nothing left out."""
    return convert(func, params, blocksize, sparsity_threshold, layout, kernel_size)
