"""Calls of operators by name: what every function of this package ends in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.attrs import make_node
from ...ir.op import Op
from ..expr import Call, Expr, Tuple, TupleWrapper, const

__all__ = ["call_op", "elementwise_function", "int_tuple"]

_op = lru_cache(maxsize=None)(Op.get)
_find_op = get_global_func("ir.GetOp", allow_missing=True)  # none where only the runtime is loaded


def call_op(op_name: str, args: Any, attrs: dict[str, Any] | None = None, attrs_key: str | None = None) -> Call:
    """A call of the operator. Its attributes are of the type the operator names, or of type `attrs_key`."""
    op = _op(op_name)
    key = attrs_key or op.attrs_type_key
    node = make_node(key, **(attrs or {})) if key else None
    return Call(op, [as_expr(arg) for arg in args], node)


def as_expr(value: Any) -> Expr:
    """A Relay expression from one, from the parts of a tuple, or from a number or array."""
    if isinstance(value, TupleWrapper):
        return value.astuple()
    if isinstance(value, (list, tuple)) and all(isinstance(item, Expr) for item in value):
        return Tuple(value)
    return value if isinstance(value, Expr) else const(value)


def int_tuple(value: Any, count: int) -> Any:
    """`count` numbers from one or several."""
    if isinstance(value, int):
        return (value,) * count
    return tuple(value)


def elementwise_function(name: str, parameters: tuple[str, ...]) -> Any:
    """The function of an operator without attributes, with the operator's own description."""

    def function(*args: Any, **named: Any) -> Call:
        values = list(args) + [named[parameter] for parameter in parameters[len(args) :] if parameter in named]
        if len(values) != len(parameters) or len(args) + len(named) != len(parameters):
            raise TypeError(f"{name}({', '.join(parameters)}) takes {len(parameters)} arguments")
        return call_op(name, values)

    function.__name__ = function.__qualname__ = name.rsplit(".", 1)[-1]
    function.__doc__ = str(_find_op(name).description) if _find_op else None
    return function
