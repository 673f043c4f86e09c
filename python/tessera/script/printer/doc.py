"""Documents: the pieces of Python text, before they are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique
from typing import Any

from ...runtime.object_path import ObjectPath

__all__ = [
    "AssertDoc",
    "AssignDoc",
    "AttrAccessDoc",
    "CallDoc",
    "ClassDoc",
    "DictDoc",
    "Doc",
    "ExprDoc",
    "ExprStmtDoc",
    "ForDoc",
    "FunctionDoc",
    "IdDoc",
    "IfDoc",
    "IndexDoc",
    "LambdaDoc",
    "ListDoc",
    "LiteralDoc",
    "OperationDoc",
    "OperationKind",
    "ReturnDoc",
    "ScopeDoc",
    "SliceDoc",
    "StmtBlockDoc",
    "StmtDoc",
    "TupleDoc",
    "WhileDoc",
]


class Doc:
    """A piece of text. `source_paths` say which parts of the printed object it stands for."""

    def __init__(self) -> None:
        self._source_paths: list[ObjectPath] = []

    @property
    def source_paths(self) -> list[ObjectPath]:
        """Paths from the printed object to what this text stands for."""
        return self._source_paths

    @source_paths.setter
    def source_paths(self, value: Sequence[ObjectPath]) -> None:
        self._source_paths = list(value)


class ExprDoc(Doc):
    """An expression."""

    def attr(self, name: str) -> AttrAccessDoc:
        """``expr.name``."""
        return AttrAccessDoc(self, name)

    def call(self, *args: ExprDoc, **kwargs: ExprDoc) -> CallDoc:
        """``expr(args, name=value)``."""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices: Any) -> IndexDoc:
        """``expr[indices]``; slices of Python become SliceDoc."""
        given = indices if isinstance(indices, tuple) else (indices,)
        return IndexDoc(self, [SliceDoc(x.start, x.stop, x.step) if isinstance(x, slice) else x for x in given])

    def __iter__(self) -> Any:
        """An expression has no elements; without this, `__getitem__` would give them forever."""
        raise RuntimeError(f"{self.__class__} cannot be used as iterable.")


class StmtDoc(Doc):
    """A statement, with an optional comment."""

    comment: str | None = None


class StmtBlockDoc(Doc):
    """Statements one after the other."""

    def __init__(self, stmts: Sequence[StmtDoc]):
        super().__init__()
        self.stmts = list(stmts)


class LiteralDoc(ExprDoc):
    """None, a truth value, a number or a string."""

    def __init__(self, value: Any):
        super().__init__()
        if not (value is None or isinstance(value, (bool, int, float, str))):
            raise TypeError(f"Unsupported type {type(value)} for LiteralDoc")
        self.value = value


class IdDoc(ExprDoc):
    """A name."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name


class AttrAccessDoc(ExprDoc):
    """``value.name``."""

    def __init__(self, value: ExprDoc, name: str):
        super().__init__()
        self.value, self.name = value, name


class IndexDoc(ExprDoc):
    """``value[indices]``."""

    def __init__(self, value: ExprDoc, indices: Sequence[Doc]):
        super().__init__()
        self.value, self.indices = value, list(indices)


class CallDoc(ExprDoc):
    """``callee(args, name=value)``."""

    def __init__(self, callee: ExprDoc, *args: ExprDoc, **kwargs: ExprDoc):
        super().__init__()
        self.callee, self.args = callee, list(args)
        self.kwargs_keys, self.kwargs_values = list(kwargs), list(kwargs.values())


@unique
class OperationKind(IntEnum):
    """Operators of Python."""

    _UnaryStart = 0
    USub = 1
    Invert = 2
    Not = 3
    _UnaryEnd = 4
    _BinaryStart = 5
    Add = 6
    Sub = 7
    Mult = 8
    Div = 9
    FloorDiv = 10
    Mod = 11
    Pow = 12
    LShift = 13
    RShift = 14
    BitAnd = 15
    BitOr = 16
    BitXor = 17
    Lt = 18
    LtE = 19
    Eq = 20
    NotEq = 21
    Gt = 22
    GtE = 23
    And = 24
    Or = 25
    _BinaryEnd = 26
    _SpecialStart = 27
    IfThenElse = 28
    _SpecialEnd = 29


class OperationDoc(ExprDoc):
    """An operator and its operands; those of IfThenElse are the condition and the two values."""

    def __init__(self, kind: OperationKind, operands: Sequence[ExprDoc]):
        super().__init__()
        self.kind, self.operands = OperationKind(kind), list(operands)


class LambdaDoc(ExprDoc):
    """``lambda args: body``."""

    def __init__(self, args: Sequence[IdDoc], body: ExprDoc):
        super().__init__()
        self.args, self.body = list(args), body


class TupleDoc(ExprDoc):
    """``(elements,)``."""

    def __init__(self, elements: Sequence[ExprDoc]):
        super().__init__()
        self.elements = list(elements)


class ListDoc(ExprDoc):
    """``[elements]``."""

    def __init__(self, elements: Sequence[ExprDoc]):
        super().__init__()
        self.elements = list(elements)


class DictDoc(ExprDoc):
    """``{key: value}``."""

    def __init__(self, content: dict[ExprDoc, ExprDoc]):
        super().__init__()
        self.keys, self.values = list(content), list(content.values())


class SliceDoc(Doc):
    """``start:stop:step``, inside an index."""

    def __init__(self, start: ExprDoc | None = None, stop: ExprDoc | None = None, step: ExprDoc | None = None):
        super().__init__()
        self.start, self.stop, self.step = start, stop, step


def _stmts(body: Any) -> list[StmtDoc]:
    """Statements of a list, of a block, or one."""
    if isinstance(body, StmtBlockDoc):
        return list(body.stmts)
    return [body] if isinstance(body, StmtDoc) else list(body)


class AssignDoc(StmtDoc):
    """``lhs: annotation = rhs``; one of the last two may be missing."""

    def __init__(self, lhs: ExprDoc, rhs: ExprDoc | None, annotation: ExprDoc | None = None):
        super().__init__()
        self.lhs, self.rhs, self.annotation = lhs, rhs, annotation


class IfDoc(StmtDoc):
    """``if predicate:`` with two branches, the second of which may be empty."""

    def __init__(self, predicate: ExprDoc, then_branch: Sequence[StmtDoc] | None, else_branch: Any = None):
        super().__init__()
        self.predicate = predicate
        self.then_branch, self.else_branch = _stmts(then_branch or []), _stmts(else_branch or [])


class WhileDoc(StmtDoc):
    """``while predicate:``."""

    def __init__(self, predicate: ExprDoc, body: Sequence[StmtDoc]):
        super().__init__()
        self.predicate, self.body = predicate, _stmts(body)


class ForDoc(StmtDoc):
    """``for lhs in rhs:``."""

    def __init__(self, lhs: ExprDoc, rhs: ExprDoc, body: Sequence[StmtDoc]):
        super().__init__()
        self.lhs, self.rhs, self.body = lhs, rhs, _stmts(body)


class ScopeDoc(StmtDoc):
    """``with rhs as lhs:``; without lhs, ``with rhs:``."""

    def __init__(self, lhs: ExprDoc | None, rhs: ExprDoc, body: Sequence[StmtDoc]):
        super().__init__()
        self.lhs, self.rhs, self.body = lhs, rhs, _stmts(body)


class ExprStmtDoc(StmtDoc):
    """An expression as a statement."""

    def __init__(self, expr: ExprDoc):
        super().__init__()
        self.expr = expr


class AssertDoc(StmtDoc):
    """``assert test, msg``."""

    def __init__(self, test: ExprDoc, msg: ExprDoc | None = None):
        super().__init__()
        self.test, self.msg = test, msg


class ReturnDoc(StmtDoc):
    """``return value``."""

    def __init__(self, value: ExprDoc):
        super().__init__()
        self.value = value


class FunctionDoc(StmtDoc):
    """``def name(args) -> return_type:``; arguments are AssignDocs without a statement's meaning."""

    def __init__(
        self,
        name: IdDoc,
        args: Sequence[AssignDoc],
        decorators: Sequence[ExprDoc],
        return_type: ExprDoc | None,
        body: Sequence[StmtDoc],
    ):
        super().__init__()
        self.name, self.args, self.decorators = name, list(args), list(decorators)
        self.return_type, self.body = return_type, _stmts(body)


class ClassDoc(StmtDoc):
    """``class name:``."""

    def __init__(self, name: IdDoc, decorators: Sequence[ExprDoc], body: Sequence[StmtDoc]):
        super().__init__()
        self.name, self.decorators, self.body = name, list(decorators), _stmts(body)
