"""How single calls become tensors: the implementations of an operator and the choice among them."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import get_global_func, register_object
from ...runtime.object import Object
from ...target import Target
from ...te import Tensor
from ..op.op import Op, OpImplementation

__all__ = ["LoweredOutput", "get_valid_implementations", "lower_call", "select_implementation"]


@register_object("relay.LoweredOutput")
class LoweredOutput(Object):
    """The tensors of a call, and how they were made."""

    def __init__(self, outputs: Any, implement: OpImplementation):
        self.__init_handle_by_constructor__(get_global_func("relay.backend._make_LoweredOutput"), outputs, implement)


def get_valid_implementations(op: Op, attrs: Any, inputs: Any, out_type: Any, target: Any) -> list[OpImplementation]:
    """What the operator's strategy offers for a call, without those whose condition does not hold."""
    return list(get_global_func("relay.op._ValidImplementations")(op, attrs, inputs, out_type, Target(target)))


def select_implementation(
    op: Op, attrs: Any, inputs: Any, out_type: Any, target: Any, use_autotvm: bool = True
) -> tuple[OpImplementation, list[Tensor]]:
    """The implementation of the highest level, and the tensors it gives."""
    del use_autotvm  # no records of tuning are kept
    target = Target(target)
    chosen = get_global_func("relay.op._SelectImplementation")(op, attrs, inputs, out_type, target)
    with target:
        return chosen, list(chosen.compute(attrs, inputs, out_type))


def lower_call(call: Any, inputs: Any, target: Any, otype: Any = None) -> LoweredOutput:
    """The tensors of a typed call from those of its arguments."""
    chosen, outputs = select_implementation(call.op, call.attrs, inputs, otype or call.checked_type, target)
    return LoweredOutput(outputs, chosen)
