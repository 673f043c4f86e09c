"""Where parts in low precision end: what one layer makes and another reads is marked to be cast, and not to be fused further."""

from __future__ import annotations

from typing import Any, Callable

from ...ir import IRModule, Op
from ...ir.attrs import make_node
from ...ir.transform import Pass, module_pass
from ..analysis import check_constant
from ..expr import Call
from ..expr_functor import ExprMutator
from ..function import Function
from ..op.annotation import stop_fusion
from .config import QuantizeContext, current_qconfig, quantize_context

__all__ = ["QPartitionExpr", "partition", "partition_expr_check", "register_partition_function", "without_partition"]

_HINT, _STOP = "annotation.cast_hint", "annotation.stop_fusion"


class QPartitionExpr:
    """What a layer gives, while it is not decided yet whether a part ends here."""

    def __init__(self, expr: Any):
        self.expr = expr

    def realize(self) -> Call:
        """The expression as the end of a part: stop_fusion(cast_hint(expr))."""
        dtype = current_qconfig().dtype_input
        hint = Call(Op.get(_HINT), [self.expr], make_node("relay.attrs.CastHintAttrs", dtype=dtype))
        return stop_fusion(hint)


Rule = Callable[[Call, list[Any], QuantizeContext], Any]
_RULES: dict[str, Rule] = {}


def register_partition_function(op_name: str, frewrite: Any = None, level: int = 10) -> Any:
    """Says where calls of an operator end a part: rule(call, new_args, context) gives an expression, a QPartitionExpr or None.

    Arguments may be QPartitionExpr too. Also a decorator.
    """
    del level

    def register(rule: Rule) -> Rule:
        _RULES[op_name] = rule
        return rule

    return register if frewrite is None else register(frewrite)


def partition_expr_check(expr: Any) -> tuple[bool, Any]:
    """Whether something is a QPartitionExpr, and the expression itself."""
    return (True, expr.expr) if isinstance(expr, QPartitionExpr) else (False, expr)


def _forward(call: Call, args: list[Any]) -> Call:
    return Call(call.op, args, call.attrs, call.type_args, call.span)


def _ended(arg: Any) -> Any:
    return arg.realize() if isinstance(arg, QPartitionExpr) else arg


def _layer(call: Call, args: list[Any], context: QuantizeContext) -> Any:
    del context
    return QPartitionExpr(_forward(call, [_ended(arg) for arg in args]))


def _same(call: Call, args: list[Any], context: QuantizeContext) -> Any:
    """Goes on with a part."""
    del context
    is_open, data = partition_expr_check(args[0])
    return QPartitionExpr(_forward(call, [data, *args[1:]])) if is_open else None


def _add(call: Call, args: list[Any], context: QuantizeContext) -> Any:
    """A bias goes on with a part; of two values that layers give, both end one."""
    del context
    is_open = [isinstance(arg, QPartitionExpr) for arg in args]
    if not any(is_open):
        return None
    if is_open[0] and not is_open[1] and check_constant(args[1]):
        return QPartitionExpr(_forward(call, [args[0].expr, args[1]]))
    return QPartitionExpr(_forward(call, [_ended(arg) for arg in args]))


for _name in ("nn.conv2d", "nn.conv1d", "nn.dense"):
    register_partition_function(_name, _layer)
for _name in ("clip", "nn.relu", "nn.max_pool2d", "multiply"):
    register_partition_function(_name, _same)
register_partition_function("add", _add)


class _Partitioner(ExprMutator):
    def __init__(self, context: QuantizeContext):
        super().__init__()
        self.context = context
        self.open: set[Any] = set()  # expressions that go on with a part

    def visit_call(self, call: Call) -> Any:
        args = [self.visit(arg) for arg in call.args]
        rule = _RULES.get(call.op.name) if isinstance(call.op, Op) else None
        given = [QPartitionExpr(arg) if arg in self.open else arg for arg in args]
        out = rule(call, given, self.context) if rule else None
        is_open, expr = partition_expr_check(_forward(call, args) if out is None else out)
        if is_open:
            self.open.add(expr)
        return expr


def partition() -> Pass:
    """The pass that ends parts in low precision between layers, for `annotate`."""

    @module_pass(opt_level=1, name="QuantizePartition")
    def run(mod: IRModule, _: Any) -> IRModule:
        function = mod["main"]
        with quantize_context() as context:
            body = _Partitioner(context).visit(function.body)
        return IRModule.from_expr(Function(function.params, body, attrs=function.attrs))

    return run


def without_partition(call: Call) -> Any:
    """What an end of a part marks; None for other calls."""
    if call.op == Op.get(_HINT):
        return call.args[0]
    inner = call.args[0] if call.op == Op.get(_STOP) else None
    return inner.args[0] if isinstance(inner, Call) and inner.op == Op.get(_HINT) else None
