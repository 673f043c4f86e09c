"""Which calls are quantised, and which of their arguments. Marks lie beside the program, which stays as it is until realised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from ...ir import Op
from ..expr import Call, Constant
from ..expr_functor import ExprVisitor
from .config import QuantizeContext, current_qconfig, quantize_context

__all__ = ["QuantizedCall", "find_calls", "register_annotate_function"]

#: Rules of operators: rule(call, context) gives the positions of (data, weight), or None where the call stays.
_RULES: dict[str, Callable[[Call, QuantizeContext], tuple[int, int] | None]] = {}


@dataclass
class QuantizedCall:
    """A call to be quantised: its data and its constant weight, and their scales once they are known."""

    call: Call
    data: Any
    weight: Constant
    data_scale: float = 0.0
    weight_scale: float = 0.0


def register_annotate_function(op_name: str, frewrite: Any = None, level: int = 10) -> Any:
    """Says how calls of an operator are quantised: rule(call, context) -> (data position, weight position) or None.

    Also a decorator.
    """
    del level

    def register(rule: Callable) -> Callable:
        _RULES[op_name] = rule
        return rule

    return register if frewrite is None else register(frewrite)


def _layer(call: Call, context: QuantizeContext) -> tuple[int, int] | None:
    return None if context.check_to_skip(call) else (0, 1)


for _name in ("nn.conv2d", "nn.conv1d", "nn.dense"):
    register_annotate_function(_name, _layer)


class _Finder(ExprVisitor):
    """Calls in the order of the program: each after what it reads."""

    def __init__(self, context: QuantizeContext):
        super().__init__()
        self.context = context
        self.found: list[QuantizedCall] = []

    def visit_call(self, call: Call) -> None:
        super().visit_call(call)
        if not isinstance(call.op, Op) or call.op.name not in _RULES:
            return
        positions = _RULES[call.op.name](call, self.context)
        if positions is None or not current_qconfig().guard(call):
            return
        data, weight = (call.args[position] for position in positions)
        if isinstance(weight, Constant) and weight.data.dtype == "float32":
            self.found.append(QuantizedCall(call, data, weight))


def find_calls(function: Any) -> list[QuantizedCall]:
    """The calls of a typed function that are quantised: those whose weight is a constant and that are not skipped."""
    with quantize_context() as context:
        finder = _Finder(context)
        finder.visit(function)
    return finder.found
