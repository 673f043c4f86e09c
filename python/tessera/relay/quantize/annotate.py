"""Which calls are quantised, and which of their arguments. Marks lie beside the program, which stays as it is until realised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from ...ir import Op
from ..expr import Call, Constant
from ..expr_functor import ExprVisitor
from .config import QuantizeContext, current_qconfig, quantize_context

__all__ = ["QuantizedCall", "find_calls", "register_annotate_function"]

#: Rules of operators: rule(call, context) gives the positions of (data, weight), or None where the call stays.
_RULES: dict[str, Callable[[Call, QuantizeContext], tuple[int, int] | None]] = {}


@dataclass
class QuantizedCall:
    """A call to be quantised: its data and its constant weight, and their scales once they are known.

    Weights have a scale for each channel of the result, in the shapes that broadcast with the weight and with the result.
    """

    call: Call
    data: Any
    weight: Constant
    is_unsigned: bool = False  # the data is never negative
    data_scale: float = 0.0
    weight_scale: np.ndarray | float = 0.0

    @property
    def result_scale(self) -> np.ndarray:
        """What one step of the sums stands for."""
        scale = np.float32(self.data_scale) * np.asarray(self.weight_scale, "float32")
        _, behind = self.channel()
        return scale.reshape(-1, *[1] * behind) if scale.ndim else scale

    def channel(self) -> tuple[int | None, int]:
        """The axis of the weight that is the result's channels (None where several are), and the axes behind them in the result."""
        if self.call.op.name == "nn.dense":
            return 0, 0
        attrs = self.call.attrs
        result, kernel = str(attrs.out_layout or attrs.data_layout), str(attrs.kernel_layout)
        is_plain = len(result) == len(kernel) == len(self.weight.data.shape)
        if not is_plain or (attrs.groups > 1 and self.weight.data.shape[kernel.index("I")] > 1 and kernel[0] != "O"):
            return None, 0
        return kernel.index("O"), len(result) - 1 - result.index("C")


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
