"""Models cut for cuDNN: softmax and convolutions, with bias and activation."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule
from ...dataflow_pattern import is_op, wildcard
from ._partition import is_float, partition
from .register import get_pattern_table, register_pattern_table

__all__ = ["partition_for_cudnn", "pattern_table"]


def _root(call: Any, name: str) -> Any:
    """The call of the operator that a match begins with."""
    while call.op.name != name:
        call = call.args[0]
    return call


def _is_convolution(call: Any) -> bool:
    conv = _root(call, "nn.conv2d")
    same = conv.args[0].checked_type.dtype == conv.args[1].checked_type.dtype
    layouts = (str(conv.attrs.data_layout), str(conv.attrs.kernel_layout))
    padding = [int(value) for value in conv.attrs.padding]
    is_symmetric = len(padding) < 4 or padding[:2] == padding[2:]
    return same and is_float(conv.args[0]) and layouts == ("NCHW", "OIHW") and is_symmetric


@register_pattern_table("cudnn")
def pattern_table() -> list[tuple]:
    """(name, pattern, check) of what cuDNN takes."""

    def softmax(name: str) -> Any:
        return is_op(f"nn.{name}")(wildcard())

    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    biased = is_op("nn.bias_add")(conv, wildcard())
    return [
        ("cudnn.softmax", softmax("softmax"), lambda call: is_float(call.args[0])),
        (
            "cudnn.log_softmax",
            softmax("log_softmax"),
            lambda call: is_float(call.args[0]) and len(call.args[0].checked_type.shape) == 2,
        ),
        ("cudnn.conv2d_bias_act", is_op("nn.relu")(biased), _is_convolution),
        ("cudnn.conv2d_bias_act", biased, _is_convolution),
        ("cudnn.conv2d", conv, _is_convolution),
    ]


def partition_for_cudnn(mod: IRModule) -> IRModule:
    """The module with what cuDNN takes in functions of their own."""
    return partition(mod, "cudnn", get_pattern_table("cudnn"))
