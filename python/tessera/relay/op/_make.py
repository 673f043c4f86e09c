"""Calls of operators by name: what every function of this package ends in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.attrs import make_node
from ...ir.op import Op
from ..expr import Call, Expr, Tuple, TupleWrapper, const

__all__ = ["call_op", "elementwise_function", "functions_of_records", "int_tuple"]

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

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = inspect.Signature([inspect.Parameter(one, kind) for one in parameters], return_annotation=Call)
    function.__name__ = function.__qualname__ = name.rsplit(".", 1)[-1]
    function.__doc__ = str(_find_op(name).description) if _find_op else None
    function.__dict__["__signature__"] = shown
    return function


@cache
def record_function(name: str) -> Callable[..., Call]:
    """The function of an operator as its record says it: the inputs, then the attributes, which have defaults or not."""
    op = _op(name)
    kinds = {str(info.name): str(info.type_info) for info in get_global_func("relay.op._Parameters")(name)}
    inputs, attributes = list(kinds)[: op.num_inputs], list(kinds)[op.num_inputs :]
    attributes.sort(key=lambda attribute: kinds[attribute] != "required")  # parameters with defaults come last

    usual = make_node(op.attrs_type_key) if attributes and "required" not in kinds.values() else None

    def parameter(attribute: str) -> inspect.Parameter:
        default = inspect.Parameter.empty if kinds[attribute] == "required" else getattr(usual, attribute, None)
        return inspect.Parameter(attribute, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)

    data = [inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in inputs]
    signature = inspect.Signature([*data, *map(parameter, attributes)], return_annotation=Call)

    def function(*args: Any, **named: Any) -> Call:
        given = signature.bind(*args, **named).arguments
        return call_op(name, [given.pop(one) for one in inputs], given)

    function.__name__ = function.__qualname__ = name.rsplit(".", 1)[-1]
    function.__doc__ = str(op.description)
    function.__dict__["__signature__"] = signature
    return function


def functions_of_records(module: str, prefix: str = "") -> Callable[[str], Any]:
    """`__getattr__` of a module: operators without a function written out have the one that their record says."""

    def find(name: str) -> Any:
        try:
            if _find_op is not None and not name.startswith("_") and _op(prefix + name).num_inputs >= 0:
                return record_function(prefix + name)
        except AttributeError:  # there is no such operator
            pass
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find
