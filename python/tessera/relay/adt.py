"""Patterns, and matching values of data types against them."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..ir import Constructor, Node, Span, TypeData
from . import _ffi_api
from .expr import ExprWithOp, Var

__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "TypeData",
]


@register_object("relay.Pattern")
class Pattern(Node):
    """The base of all patterns."""


@register_object("relay.PatternWildcard")
class PatternWildcard(Pattern):
    """Fits any value."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PatternWildcard)


@register_object("relay.PatternVar")
class PatternVar(Pattern):
    """Fits any value, and gives it a name."""

    def __init__(self, var: Var):
        self.__init_handle_by_constructor__(_ffi_api.PatternVar, var)


@register_object("relay.PatternConstructor")
class PatternConstructor(Pattern):
    """Fits values of one constructor whose parts fit `patterns`."""

    def __init__(self, constructor: Constructor, patterns: Any = None):
        self.__init_handle_by_constructor__(_ffi_api.PatternConstructor, constructor, patterns or [])


@register_object("relay.PatternTuple")
class PatternTuple(Pattern):
    """Fits tuples whose fields fit `patterns`."""

    def __init__(self, patterns: Any = None):
        self.__init_handle_by_constructor__(_ffi_api.PatternTuple, patterns or [])


@register_object("relay.Clause")
class Clause(Node):
    """The value `rhs` for what fits the pattern `lhs`."""

    def __init__(self, lhs: Pattern, rhs: Any):
        self.__init_handle_by_constructor__(_ffi_api.Clause, lhs, rhs)


@register_object("relay.Match")
class Match(ExprWithOp):
    """The value of the first clause that fits `data`. A complete match has a clause for every value."""

    def __init__(self, data: Any, clauses: Any, complete: bool = True, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Match, data, clauses, complete, span)
