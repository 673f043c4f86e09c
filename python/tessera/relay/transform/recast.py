"""Some operators of a program in another type, with casts around them."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...ir.attrs import make_node
from ..analysis import post_order_visit
from ..expr import Call, Tuple
from ..expr_functor import ExprMutator
from ..op import op as _op
from ..op.transform import cast
from .transform import InferTypeLocal

__all__ = ["RecastMutator", "recast"]


class RecastMutator(ExprMutator):
    """Casts the arguments of `valid_ops` to `dtype`, and their results from `out_dtype` to what they were.

    Layers count those operators on the way to the result, the first being 0; the layers of `skip_layers` stay, negative
    ones counted from the last.
    """

    def __init__(self, dtype: str, out_dtype: str, valid_ops: list, valid_op_count: int, skip_layers: list[int]):
        super().__init__()
        self.dtype, self.out_dtype = dtype, out_dtype
        self.valid_ops, self.valid_op_count = list(valid_ops), valid_op_count
        self.skip_layers = {layer + valid_op_count if layer < 0 else layer for layer in skip_layers}
        self.depth = 0

    def _cast(self, arg: Any) -> Any:
        if isinstance(arg, Tuple):
            return Tuple([cast(field, self.dtype) for field in arg.fields])
        return cast(arg, self.dtype)

    def _attrs(self, call: Call) -> tuple[Any, str]:
        """Attributes with the new type, and the type that the result had."""
        if call.attrs is not None and "out_dtype" in call.attrs.keys():  # noqa: SIM118 (attributes are no mapping)
            values = {name: call.attrs[name] for name in call.attrs.keys()}  # noqa: SIM118
            old = str(values["out_dtype"])
            values["out_dtype"] = self.out_dtype
            is_open = old in ("", "void")  # the type of the data
            return make_node(str(call.op.attrs_type_key), **values), InferTypeLocal(call).dtype if is_open else old
        return call.attrs, InferTypeLocal(call).dtype

    def visit_call(self, call: Call) -> Any:
        is_valid = call.op in self.valid_ops
        depth = self.depth
        layer = self.valid_op_count - depth - 1
        op = self.visit(call.op)
        args = []
        for arg in call.args:
            self.depth = depth + is_valid
            args.append(self.visit(arg))
        self.depth = depth
        if not is_valid or layer in self.skip_layers:
            return Call(op, args, call.attrs, call.type_args, call.span)
        attrs, old = self._attrs(call)
        return cast(Call(op, [self._cast(arg) for arg in args], attrs), old)


def recast(
    expr: Any, dtype: str, out_dtype: str, ops: list[str] | None = None, skip_layers: list[int] | None = None
) -> Any:
    """A program whose operators `ops` (nn.conv2d) take `dtype` and give `out_dtype`, all else staying as it is."""
    is_module = isinstance(expr, IRModule)
    body = expr["main"] if is_module else expr
    valid_ops = [_op.get(name) for name in ops or ["nn.conv2d"]]
    count = 0

    def visit(node: Any) -> None:
        nonlocal count
        count += isinstance(node, Call) and node.op in valid_ops

    post_order_visit(body, visit)
    out = RecastMutator(dtype, out_dtype, valid_ops, count, skip_layers or []).visit(body)
    return IRModule.from_expr(out) if is_module else out
