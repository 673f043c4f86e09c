"""Rules of ToMixedPrecision, and which operators follow which."""

from __future__ import annotations

from typing import Any, Callable

from ...ir import Op
from ..expr import Call, Constant
from ..op.op import register_mixed_precision_conversion

__all__ = [
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
    "generic_always_op",
    "generic_follow_op",
    "generic_never_op",
    "get_generic_out_dtypes",
    "register_func_to_op_list",
]

#: An operator computes in the narrow type; where its arguments are narrow; or in float32.
MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = 0, 1, 2

_LISTS = {
    "DEFAULT_ALWAYS_LIST": MIXED_PRECISION_ALWAYS,
    "DEFAULT_FOLLOW_LIST": MIXED_PRECISION_FOLLOW,
    "DEFAULT_NEVER_LIST": MIXED_PRECISION_NEVER,
}
_SLOT = "FTVMMixedPrecisionConversionType"


def _categories() -> dict[str, int]:
    """What the record of each operator says of it."""
    found = {}
    for name in Op.list_op_names():
        op = Op.get(name)
        rule = op.get_attr(_SLOT) if op.has_attr(_SLOT) else None
        if rule is not None:
            found[str(name)] = int(rule(Call(op, []), "float16")[0])
    return found


def __getattr__(name: str) -> Any:
    """`DEFAULT_ALWAYS_LIST`, `DEFAULT_FOLLOW_LIST` and `DEFAULT_NEVER_LIST`: names of operators."""
    if name in _LISTS:
        return sorted(op for op, category in _categories().items() if category == _LISTS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_generic_out_dtypes(call_node: Call, mixed_precision_type: str) -> list[str]:
    """Types of accumulation and result: float32 and the narrow type where the operator has an out_dtype."""
    attrs = call_node.attrs
    has_out_dtype = attrs is not None and "out_dtype" in attrs.keys()  # noqa: SIM118 (attributes are no mapping)
    return ["float32" if has_out_dtype else mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that gain by the narrow type."""
    return [MIXED_PRECISION_ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that do as their arguments; of constants alone they stay."""
    if call_node.args and all(isinstance(arg, Constant) for arg in call_node.args):
        return generic_never_op(call_node, mixed_precision_type)
    return [MIXED_PRECISION_FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that need float32."""
    return [MIXED_PRECISION_NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def register_func_to_op_list(list_ops: list[str]) -> Callable[[Callable], Callable]:
    """Decorator: a rule for several operators."""

    def register(rule: Callable) -> Callable:
        for name in list_ops:
            register_mixed_precision_conversion(name, rule, level=15)
        return rule

    return register
