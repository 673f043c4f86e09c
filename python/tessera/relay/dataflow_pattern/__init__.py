"""Patterns of dataflow: finding, replacing and moving pieces of a graph."""

from __future__ import annotations

from typing import Any, Callable

from ..._ffi.registry import register_object
from ...ir import IRModule, make_node
from ...ir.base import Node
from ...ir.op import Op
from ...runtime.object import Object
from ..ty import Type
from . import _ffi_api

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]


@register_object("relay.dataflow_pattern.DFPattern")
class DFPattern(Node):
    """The base of all patterns. Calling one makes the pattern of a call; `|` means either."""

    def __call__(self, *args: Any) -> CallPattern:
        args_list = list(args)
        # op(None) fits any arguments
        return CallPattern(self, None if len(args_list) == 1 and args_list[0] is None else args_list)

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: dict[str, Any]) -> AttrPattern:
        """This pattern, with these attributes."""
        return AttrPattern(self, make_node("DictAttrs", **attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        """This pattern, of that type."""
        return has_type(ttype, self)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This pattern, with elements of that type."""
        return has_dtype(dtype, self)

    def has_shape(self, shape: Any) -> ShapePattern:
        """This pattern, of that shape."""
        return has_shape(shape, self)

    def match(self, expr: Any) -> bool:
        """Does `expr` fit?"""
        return match(self, expr)

    def partition(
        self, expr: Any, attrs: dict[str, Any] | None = None, check: Callable[[Any], bool] = lambda x: True
    ) -> Any:
        """Moves what fits into functions of its own."""
        return partition(self, expr, attrs, check)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern below `parent`, everything between them being `path`."""
        return DominatorPattern(parent, path if path is not None else wildcard(), self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, or what is built around it."""
        return self | option_constructor(self)


def is_var(name: str = "") -> VarPattern:
    """A variable; of that name if one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Exactly this expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator of that name; call it with patterns of arguments."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Any) -> TuplePattern:
    """A tuple; None fits any fields."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple; any if no index is given."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A condition."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A let."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """`pattern`, of that type."""
    return TypePattern(pattern if pattern is not None else wildcard(), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """`pattern`, with elements of that type."""
    return DataTypePattern(pattern if pattern is not None else wildcard(), dtype)


def has_shape(shape: Any, pattern: DFPattern | None = None) -> ShapePattern:
    """`pattern`, of that shape."""
    return ShapePattern(pattern if pattern is not None else wildcard(), shape)


def has_attr(attrs: dict[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """`pattern`, with these attributes."""
    return (pattern if pattern is not None else wildcard()).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """`child` below `parent`, everything between them being `path`."""
    return DominatorPattern(parent, path, child)


def match(pattern: DFPattern, expr: Any) -> bool:
    """Does `expr` fit the pattern?"""
    return bool(_ffi_api.match(pattern, expr))


@register_object("relay.dataflow_pattern.ExprPattern")
class ExprPattern(DFPattern):
    """Exactly one expression."""

    def __init__(self, expr: Any):
        self.__init_handle_by_constructor__(_ffi_api.ExprPattern, expr)


@register_object("relay.dataflow_pattern.VarPattern")
class VarPattern(DFPattern):
    """A variable."""

    def __init__(self, name_hint: str = ""):
        self.__init_handle_by_constructor__(_ffi_api.VarPattern, name_hint)


@register_object("relay.dataflow_pattern.ConstantPattern")
class ConstantPattern(DFPattern):
    """A constant."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ConstantPattern)


@register_object("relay.dataflow_pattern.CallPattern")
class CallPattern(DFPattern):
    """A call; `args` of None fits any arguments."""

    def __init__(self, op: DFPattern, args: Any):
        self.__init_handle_by_constructor__(_ffi_api.CallPattern, op, args)


@register_object("relay.dataflow_pattern.FunctionPattern")
class FunctionPattern(DFPattern):
    """A function."""

    def __init__(self, params: Any, body: DFPattern):
        self.__init_handle_by_constructor__(_ffi_api.FunctionPattern, params, body)


@register_object("relay.dataflow_pattern.IfPattern")
class IfPattern(DFPattern):
    """A condition."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.__init_handle_by_constructor__(_ffi_api.IfPattern, cond, true_branch, false_branch)


@register_object("relay.dataflow_pattern.LetPattern")
class LetPattern(DFPattern):
    """A let."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.__init_handle_by_constructor__(_ffi_api.LetPattern, var, value, body)


@register_object("relay.dataflow_pattern.TuplePattern")
class TuplePattern(DFPattern):
    """A tuple; `fields` of None fits any."""

    def __init__(self, fields: Any):
        self.__init_handle_by_constructor__(_ffi_api.TuplePattern, fields)

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise IndexError("TuplePattern index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, _: Any) -> Any:
        """Not for tuples."""
        raise TypeError("astype cannot be used on tuple")


@register_object("relay.dataflow_pattern.TupleGetItemPattern")
class TupleGetItemPattern(DFPattern):
    """A field of a tuple."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        self.__init_handle_by_constructor__(_ffi_api.TupleGetItemPattern, tuple_value, -1 if index is None else index)


@register_object("relay.dataflow_pattern.AltPattern")
class AltPattern(DFPattern):
    """One of two patterns."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.__init_handle_by_constructor__(_ffi_api.AltPattern, left, right)


@register_object("relay.dataflow_pattern.WildcardPattern")
class WildcardPattern(DFPattern):
    """Anything."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.WildcardPattern)


@register_object("relay.dataflow_pattern.TypePattern")
class TypePattern(DFPattern):
    """A pattern of a given type."""

    def __init__(self, pattern: DFPattern, ttype: Type):
        self.__init_handle_by_constructor__(_ffi_api.TypePattern, pattern, ttype)


@register_object("relay.dataflow_pattern.DataTypePattern")
class DataTypePattern(DFPattern):
    """A pattern with elements of a given type."""

    def __init__(self, pattern: DFPattern, dtype: str):
        self.__init_handle_by_constructor__(_ffi_api.DataTypePattern, pattern, dtype)


@register_object("relay.dataflow_pattern.ShapePattern")
class ShapePattern(DFPattern):
    """A pattern of a given shape."""

    def __init__(self, pattern: DFPattern, shape: Any):
        self.__init_handle_by_constructor__(_ffi_api.ShapePattern, pattern, shape)


@register_object("relay.dataflow_pattern.AttrPattern")
class AttrPattern(DFPattern):
    """A pattern with given attributes."""

    def __init__(self, pattern: DFPattern, attrs: Any):
        self.__init_handle_by_constructor__(_ffi_api.AttrPattern, pattern, attrs)


@register_object("relay.dataflow_pattern.DominatorPattern")
class DominatorPattern(DFPattern):
    """A pattern below another, everything between them being a third."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        self.__init_handle_by_constructor__(_ffi_api.DominatorPattern, parent, path, child)


class DFPatternCallback:
    """A pattern, and what replaces what fits it: `callback(pre, post, node_map)`."""

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        self.pattern: Any = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Any) -> Any:
        """The expression with every match replaced, until nothing changes."""
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        """What replaces a match: `pre` before, `post` after its operands were rewritten."""
        raise NotImplementedError("a DFPatternCallback must say what replaces a match")


@register_object("relay.dataflow_pattern.DFPatternCallback")
class _DFPatternCallback(Object):
    """A DFPatternCallback as the core holds it."""

    def __init__(self, pattern: DFPattern, callback: Any, require_type: bool, rewrite_once: bool):
        self.__init_handle_by_constructor__(_ffi_api.DFPatternCallback, pattern, callback, require_type, rewrite_once)


def rewrite(callbacks: Any, expr: Any, mod: IRModule | None = None) -> Any:
    """The expression with what fits the patterns of the callbacks replaced, until nothing changes."""
    listed = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for callback in listed:
        if callback.pattern is None:
            raise ValueError("a DFPatternCallback needs a pattern")
    made = [
        _DFPatternCallback(callback.pattern, callback.callback, callback.require_type, callback.rewrite_once)
        for callback in listed
    ]
    return _ffi_api.rewrite(made, expr, mod if mod is not None else IRModule())


def partition(
    pattern: DFPattern,
    expr: Any,
    attrs: dict[str, Any] | None = None,
    check: Callable[[Any], bool] = lambda x: True,
) -> Any:
    """The expression with what fits, and passes `check`, moved into functions with these attributes."""
    return _ffi_api.partition(pattern, expr, attrs, check)
