"""What the compiler rewrites calls of operators into before it lowers them, by target.

Each is a function with one implementation per key of a target (`conv2d_legalize.register`); without one, the operator's own
record decides. A call is replaced by what it gives, or left where that is None.
"""

from __future__ import annotations

from typing import Any, Callable

from ...ir.op import Op
from ...target.generic_func import generic_func

__all__ = [
    "batch_matmul_legalize",
    "bitserial_conv2d_legalize",
    "conv2d_alter_layout",
    "conv2d_legalize",
    "conv2d_transpose_legalize",
    "conv3d_alter_layout",
    "conv3d_transpose_legalize",
    "dense_alter_layout",
    "dense_legalize",
    "matmul_legalize",
]


def _rule(op: str, slot: str) -> Any:
    """What the record of an operator has in a slot; asked for at import, before a program replaces it."""
    try:
        return Op.get(op).get_attr(slot)
    except Exception:  # an operator that is not there has no rule
        return None


def _legalize(op: str) -> Any:
    rule = _rule(op, "FTVMLegalize")

    def legalize(attrs: Any, inputs: Any, types: Any) -> Any:
        return rule(attrs, inputs, types) if rule is not None else None

    return _named(legalize, f"{op.split('.')[-1]}_legalize", f"What a call of {op} becomes, or None.")


def _alter(op: str) -> Any:
    rule = _rule(op, "FTVMAlterOpLayout")

    def alter_layout(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
        return rule(attrs, inputs, tinfos, out_type) if rule is not None else None

    return _named(alter_layout, f"{op.split('.')[-1]}_alter_layout", f"A call of {op} in a better layout, or None.")


def _named(function: Callable, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return generic_func(function)


conv2d_legalize = _legalize("nn.conv2d")
conv2d_transpose_legalize = _legalize("nn.conv2d_transpose")
conv3d_transpose_legalize = _legalize("nn.conv3d_transpose")
dense_legalize = _legalize("nn.dense")
matmul_legalize = _legalize("nn.matmul")
batch_matmul_legalize = _legalize("nn.batch_matmul")
bitserial_conv2d_legalize = _legalize("nn.bitserial_conv2d")
conv2d_alter_layout = _alter("nn.conv2d")
conv3d_alter_layout = _alter("nn.conv3d")
dense_alter_layout = _alter("nn.dense")
