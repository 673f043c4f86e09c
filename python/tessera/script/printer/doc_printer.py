"""Documents as Python text, with marks under what a path names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Callable

from ...runtime.object_path import ObjectPath
from .doc import (
    AssertDoc,
    AssignDoc,
    AttrAccessDoc,
    CallDoc,
    ClassDoc,
    DictDoc,
    Doc,
    ExprStmtDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    IndexDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    OperationKind,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    StmtDoc,
    TupleDoc,
    WhileDoc,
)

__all__ = ["to_python_script"]

_K = OperationKind
#: Operators from those that bind least to those that bind most; the last level is that of names and calls.
_LEVELS: list[list[Any]] = [
    ["lambda"],
    [_K.IfThenElse],
    [_K.Or],
    [_K.And],
    [_K.Not],
    [_K.Lt, _K.LtE, _K.Eq, _K.NotEq, _K.Gt, _K.GtE],
    [_K.BitOr],
    [_K.BitXor],
    [_K.BitAnd],
    [_K.LShift, _K.RShift],
    [_K.Add, _K.Sub],
    [_K.Mult, _K.Div, _K.FloorDiv, _K.Mod],
    [_K.USub, _K.Invert],
    [_K.Pow],
    ["atom"],
]
_LEVEL = {kind: i for i, kinds in enumerate(_LEVELS) for kind in kinds}
_COMPARISON, _UNARY, _ATOM = _LEVEL[_K.Lt], _LEVEL[_K.USub], _LEVEL["atom"]
_SYMBOL = {
    _K.USub: "-",
    _K.Invert: "~",
    _K.Not: "not ",
    _K.Add: "+",
    _K.Sub: "-",
    _K.Mult: "*",
    _K.Div: "/",
    _K.FloorDiv: "//",
    _K.Mod: "%",
    _K.Pow: "**",
    _K.LShift: "<<",
    _K.RShift: ">>",
    _K.BitAnd: "&",
    _K.BitOr: "|",
    _K.BitXor: "^",
    _K.Lt: "<",
    _K.LtE: "<=",
    _K.Eq: "==",
    _K.NotEq: "!=",
    _K.Gt: ">",
    _K.GtE: ">=",
    _K.And: "and",
    _K.Or: "or",
}
#: Fewer lines than this are not worth a note that they are left out.
_MIN_SKIPPED = 2


def _level_of(doc: Doc) -> int:
    if isinstance(doc, LambdaDoc):
        return _LEVEL["lambda"]
    if isinstance(doc, OperationDoc):
        return _LEVEL[doc.kind]
    if isinstance(doc, LiteralDoc) and isinstance(doc.value, (int, float)) and not isinstance(doc.value, bool):
        return _UNARY if doc.value < 0 else _ATOM
    return _ATOM


class _Printer:
    def __init__(self, indent_spaces: int, path: ObjectPath | None):
        self.indent_spaces, self.path = indent_spaces, path
        self.text: list[str] = []
        self.length = 0
        self.indent = 0
        self.best = 0  # how many steps of the path the marked documents share
        self.marks: list[tuple[int, int]] = []

    def put(self, text: str) -> None:
        self.text.append(text)
        self.length += len(text)

    def line(self) -> None:
        self.put("\n" + " " * (self.indent * self.indent_spaces))

    def print(self, doc: Doc) -> None:
        """One document; what its paths name is marked when no longer match is known."""
        start = self.length
        _HANDLERS[type(doc)](self, doc)
        if self.path is None:
            return
        for path in doc.source_paths:
            if path.is_prefix_of(self.path) and len(path) >= self.best:
                if len(path) > self.best:
                    self.best, self.marks = len(path), []
                self.marks.append((start, self.length))

    def within(self, doc: Doc, level: int) -> None:
        """An operand, in parentheses where it binds less than `level`."""
        if _level_of(doc) < level:
            self.put("(")
            self.print(doc)
            self.put(")")
        else:
            self.print(doc)

    def separated(self, docs: Sequence[Doc]) -> None:
        for i, doc in enumerate(docs):
            if i:
                self.put(", ")
            self.print(doc)

    def block(self, stmts: Sequence[StmtDoc], comment: str | None = None) -> None:
        self.indent += 1
        if comment is not None:
            self.line()
            self.put('"""')
            for part in comment.split("\n"):
                self.line()
                self.put(part)
            self.line()
            self.put('"""')
        for stmt in stmts:
            self.line()
            self.print(stmt)
        if not stmts:
            self.line()
            self.put("pass")
        self.indent -= 1

    # ---- expressions

    def literal(self, doc: LiteralDoc) -> None:
        self.put(json.dumps(doc.value, ensure_ascii=False) if isinstance(doc.value, str) else repr(doc.value))

    def attr(self, doc: AttrAccessDoc) -> None:
        is_number = isinstance(doc.value, LiteralDoc) and type(doc.value.value) in (int, float)
        self.within(doc.value, _ATOM + is_number)
        self.put(f".{doc.name}")

    def index(self, doc: IndexDoc) -> None:
        self.within(doc.value, _ATOM)
        self.put("[")
        self.separated(doc.indices)
        self.put("]" if doc.indices else "()]")

    def call(self, doc: CallDoc) -> None:
        self.within(doc.callee, _ATOM)
        self.put("(")
        self.separated(doc.args)
        for i, (name, value) in enumerate(zip(doc.kwargs_keys, doc.kwargs_values)):
            self.put(f"{', ' if i or doc.args else ''}{name}=")
            self.print(value)
        self.put(")")

    def operation(self, doc: OperationDoc) -> None:
        kind, operands = doc.kind, doc.operands
        level = _LEVEL[kind]
        if kind < _K._UnaryEnd:
            self.put(_SYMBOL[kind])
            self.within(operands[0], level)
        elif kind == _K.IfThenElse:
            condition, then, other = operands
            self.within(then, level + 1)
            self.put(" if ")
            self.within(condition, level + 1)
            self.put(" else ")
            self.within(other, level)
        elif kind == _K.Pow:  # binds to the right, and less than a sign on its right
            self.within(operands[0], level + 1)
            self.put(" ** ")
            self.within(operands[1], _UNARY)
        else:
            self.within(operands[0], level + (level == _COMPARISON))
            self.put(f" {_SYMBOL[kind]} ")
            self.within(operands[1], level + 1)

    def lambda_(self, doc: LambdaDoc) -> None:
        self.put("lambda " if doc.args else "lambda")
        self.separated(doc.args)
        self.put(": ")
        self.within(doc.body, _LEVEL["lambda"])

    def tuple_(self, doc: TupleDoc) -> None:
        self.put("(")
        self.separated(doc.elements)
        self.put(",)" if len(doc.elements) == 1 else ")")

    def list_(self, doc: ListDoc) -> None:
        self.put("[")
        self.separated(doc.elements)
        self.put("]")

    def dict_(self, doc: DictDoc) -> None:
        self.put("{")
        for i, (key, value) in enumerate(zip(doc.keys, doc.values)):
            self.put(", " if i else "")
            self.print(key)
            self.put(": ")
            self.print(value)
        self.put("}")

    def slice_(self, doc: SliceDoc) -> None:
        if doc.start is not None:
            self.print(doc.start)
        self.put(":")
        if doc.stop is not None:
            self.print(doc.stop)
        if doc.step is not None:
            self.put(":")
            self.print(doc.step)

    # ---- statements

    def stmts(self, doc: StmtBlockDoc) -> None:
        for i, stmt in enumerate(doc.stmts):
            if i:
                self.line()
            self.print(stmt)

    def comment_before(self, doc: StmtDoc) -> None:
        for part in doc.comment.split("\n") if doc.comment is not None else []:
            self.put(f"# {part}")
            self.line()

    def simple(self, doc: StmtDoc, body: Callable[[], None]) -> None:
        """A statement of one line: a comment of one line comes after it, a longer one before."""
        is_long = doc.comment is not None and "\n" in doc.comment
        if is_long:
            self.comment_before(doc)
        body()
        if doc.comment is not None and not is_long:
            self.put(f"  # {doc.comment}")

    def assignment(self, doc: AssignDoc) -> None:
        if isinstance(doc.lhs, TupleDoc) and doc.lhs.elements:  # names side by side need no parentheses
            self.separated(doc.lhs.elements)
            self.put("," if len(doc.lhs.elements) == 1 else "")
        else:
            self.print(doc.lhs)
        if doc.annotation is not None:
            self.put(": ")
            self.print(doc.annotation)
        if doc.rhs is not None:
            self.put(" = ")
            if isinstance(doc.rhs, TupleDoc) and len(doc.rhs.elements) > 1:
                self.separated(doc.rhs.elements)
            else:
                self.print(doc.rhs)

    def assign(self, doc: AssignDoc) -> None:
        self.simple(doc, lambda: self.assignment(doc))

    def if_(self, doc: IfDoc) -> None:
        self.comment_before(doc)
        self.put("if ")
        self.print(doc.predicate)
        self.put(":")
        self.block(doc.then_branch)
        if doc.else_branch:
            self.line()
            self.put("else:")
            self.block(doc.else_branch)

    def while_(self, doc: WhileDoc) -> None:
        self.comment_before(doc)
        self.put("while ")
        self.print(doc.predicate)
        self.put(":")
        self.block(doc.body)

    def for_(self, doc: ForDoc) -> None:
        self.comment_before(doc)
        self.put("for ")
        if isinstance(doc.lhs, TupleDoc) and doc.lhs.elements:
            self.separated(doc.lhs.elements)
            self.put("," if len(doc.lhs.elements) == 1 else "")
        else:
            self.print(doc.lhs)
        self.put(" in ")
        self.print(doc.rhs)
        self.put(":")
        self.block(doc.body)

    def scope(self, doc: ScopeDoc) -> None:
        self.comment_before(doc)
        self.put("with ")
        self.print(doc.rhs)
        if doc.lhs is not None:
            self.put(" as ")
            self.print(doc.lhs)
        self.put(":")
        self.block(doc.body)

    def expr(self, doc: ExprStmtDoc) -> None:
        self.simple(doc, lambda: self.print(doc.expr))

    def assert_(self, doc: AssertDoc) -> None:
        def body() -> None:
            self.put("assert ")
            self.print(doc.test)
            if doc.msg is not None:
                self.put(", ")
                self.print(doc.msg)

        self.simple(doc, body)

    def return_(self, doc: ReturnDoc) -> None:
        def body() -> None:
            self.put("return ")
            self.print(doc.value)

        self.simple(doc, body)

    def decorators(self, docs: Sequence[Doc]) -> None:
        for doc in docs:
            self.put("@")
            self.print(doc)
            self.line()

    def function(self, doc: FunctionDoc) -> None:
        self.decorators(doc.decorators)
        self.put("def ")
        self.print(doc.name)
        self.put("(")
        for i, arg in enumerate(doc.args):
            self.put(", " if i else "")
            self.print(arg)
        self.put(")")
        if doc.return_type is not None:
            self.put(" -> ")
            self.print(doc.return_type)
        self.put(":")
        self.block(doc.body, doc.comment)

    def class_(self, doc: ClassDoc) -> None:
        self.decorators(doc.decorators)
        self.put("class ")
        self.print(doc.name)
        self.put(":")
        self.block(doc.body, doc.comment)


_HANDLERS: dict[type, Callable[[_Printer, Any], None]] = {
    LiteralDoc: _Printer.literal,
    IdDoc: lambda printer, doc: printer.put(doc.name),
    AttrAccessDoc: _Printer.attr,
    IndexDoc: _Printer.index,
    CallDoc: _Printer.call,
    OperationDoc: _Printer.operation,
    LambdaDoc: _Printer.lambda_,
    TupleDoc: _Printer.tuple_,
    ListDoc: _Printer.list_,
    DictDoc: _Printer.dict_,
    SliceDoc: _Printer.slice_,
    StmtBlockDoc: _Printer.stmts,
    AssignDoc: _Printer.assign,
    IfDoc: _Printer.if_,
    WhileDoc: _Printer.while_,
    ForDoc: _Printer.for_,
    ScopeDoc: _Printer.scope,
    ExprStmtDoc: _Printer.expr,
    AssertDoc: _Printer.assert_,
    ReturnDoc: _Printer.return_,
    FunctionDoc: _Printer.function,
    ClassDoc: _Printer.class_,
}


def _underlines(text: str, marks: list[tuple[int, int]]) -> dict[int, str]:
    """The marks below each line that has some; indentation is not marked."""
    out: dict[int, str] = {}
    start = 0
    for number, line in enumerate(text.split("\n")):
        row = [" "] * len(line)
        for begin, end in marks:
            for i in range(max(begin - start, 0), min(end - start, len(line))):
                row[i] = "^"
        indentation = len(line) - len(line.lstrip())
        drawn = (" " * indentation + "".join(row[indentation:])).rstrip()
        if drawn:
            out[number] = drawn
        start += len(line) + 1
    return out


def _kept(count: int, marked: dict[int, str], num_context_lines: int) -> list[bool]:
    """Which lines are shown: those near marked ones, and gaps too short to be worth leaving out."""
    kept = [any(abs(i - line) <= num_context_lines for line in marked) for i in range(count)]
    i = 0
    while i < count:
        end = i
        while end < count and not kept[end]:
            end += 1
        if 0 < end - i < _MIN_SKIPPED:
            kept[i:end] = [True] * (end - i)
        i = max(end, i) + 1
    return kept


def to_python_script(
    doc: Doc,
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int | None = None,
    path_to_underline: ObjectPath | None = None,
) -> str:
    """The text of a document, whose last line ends too.

    What stands for `path_to_underline`, or for the nearest object around it, is marked with ^ on the line below; with
    `num_context_lines` only as many lines before and after marked ones are shown.
    """
    printer = _Printer(indent_spaces, path_to_underline)
    printer.print(doc)
    text = "".join(printer.text)
    lines = [line.rstrip() if not line.strip() else line for line in text.split("\n")]
    marked = _underlines(text, printer.marks)
    shows_all = num_context_lines is None or num_context_lines < 0 or not marked
    kept = [True] * len(lines) if shows_all else _kept(len(lines), marked, int(num_context_lines or 0))
    width = len(str(len(lines))) + 1 if print_line_numbers else 0
    out: list[str] = []
    skipped = 0

    def note() -> None:
        if skipped:
            out.append(f"(... {skipped} lines skipped ...)")

    for i, line in enumerate(lines):
        if not kept[i]:
            skipped += 1
            continue
        note()
        skipped = 0
        out.append((f"{i + 1:>{width - 1}} " if width else "") + line)
        if i in marked:
            out.append(" " * width + marked[i])
    note()
    return "\n".join([*out, ""]) if text else ""
