"""The nodes of Python's syntax, the same under all versions of Python: what a parser of scripts may rely on.

`to_doc` makes them from a tree of `ast`, `from_doc` the other way round.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


class AST:
    """A node: its fields, and where it stands in the source."""

    _FIELDS: tuple[str, ...] = ()

    def __init__(
        self,
        lineno: int | None = None,
        col_offset: int | None = None,
        end_lineno: int | None = None,
        end_col_offset: int | None = None,
    ) -> None:
        self.lineno, self.col_offset = lineno, col_offset
        self.end_lineno, self.end_col_offset = end_lineno, end_col_offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._FIELDS)})"


#: Base, and the classes that have it with the names of their fields.
_CLASSES = {
    "AST": (
        "alias(name asname), arg(arg annotation), arguments(args vararg kwonlyargs kw_defaults kwarg defaults "
        "posonlyargs), boolop, cmpop, comprehension(target iter ifs is_async), excepthandler, expr, "
        "expr_context, keyword(arg value), mod, operator, slice, stmt, unaryop, withitem(context_expr "
        "optional_vars)"
    ),
    "operator": "Add, BitAnd, BitOr, BitXor, Div, FloorDiv, LShift, MatMult, Mod, Mult, Pow, RShift, Sub",
    "boolop": "And, Or",
    "stmt": (
        "AnnAssign(target annotation value simple), Assert(test msg), Assign(targets value), AugAssign(target "
        "op value), Break, ClassDef(name bases keywords body decorator_list), Continue, Delete(targets), "
        "Expr(value), For(target iter body orelse), FunctionDef(name args body decorator_list returns), "
        "Global(names), If(test body orelse), Import(names), ImportFrom(module names level), Nonlocal(names), "
        "Pass, Raise(exc cause), Return(value), Try(body handlers orelse finalbody), While(test body orelse), "
        "With(items body)"
    ),
    "expr": (
        "Attribute(value attr ctx), BinOp(left op right), BoolOp(op values), Call(func args keywords), "
        "Compare(left ops comparators), Constant(value kind s n), Dict(keys values), DictComp(key value "
        "generators), FormattedValue(value conversion format_spec), GeneratorExp(elt generators), IfExp(test "
        "body orelse), JoinedStr(values), Lambda(args body), List(elts ctx), ListComp(elt generators), "
        "Name(id ctx), NamedExpr(target value), Set(elts), SetComp(elt generators), Starred(value ctx), "
        "Subscript(value slice ctx), Tuple(elts ctx), UnaryOp(op operand), Yield(value), YieldFrom(value)"
    ),
    "expr_context": "AugLoad, AugStore, Del, Load, Param, Store",
    "cmpop": "Eq, Gt, GtE, In, Is, IsNot, Lt, LtE, NotEq, NotIn",
    "excepthandler": "ExceptHandler(type name body)",
    "mod": "Expression(body), Interactive(body), Module(body), Suite(body)",
    "slice": "ExtSlice(dims), Index(value), Slice(lower upper step)",
    "unaryop": "Invert, Not, UAdd, USub",
}


def _define(base: type[AST], text: str) -> type[AST]:
    """A class from "Name(field field)"; its constructor takes the fields, then the position."""
    name, _, fields = text.rstrip(")").partition("(")
    names = tuple(fields.split())
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)]
    parameters += [inspect.Parameter(field, kind, default=None) for field in (*names, *_POSITION)]
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        given = signature.bind(self, *args, **named)
        given.apply_defaults()
        for field in (*names, *_POSITION):
            setattr(self, field, given.arguments[field])

    __init__.__dict__["__signature__"] = signature
    body = {"_FIELDS": names, "__init__": __init__, "__module__": __name__, "__doc__": f"{name} of Python's syntax."}
    return type(name, (base,), body)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


for _base, _texts in _CLASSES.items():
    for _text in _names(_texts):
        _class = _define(globals()[_base], _text)
        globals()[_class.__name__] = _class


def to_doc(node: Any) -> Any:
    """The node of this module for one of `ast`; lists node by node, other values as they are."""
    if isinstance(node, list):
        return [to_doc(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    cls = globals().get(type(node).__name__)
    if cls is None:
        raise NotImplementedError(f"{type(node).__name__} cannot stand in a script")
    fields = {name: to_doc(getattr(node, name, None)) for name in cls._FIELDS}
    position = {name: getattr(node, name, None) for name in _POSITION}
    return cls(**fields, **position)


def from_doc(node: Any) -> Any:
    """The node of `ast` for one of this module."""
    if isinstance(node, list):
        return [from_doc(item) for item in node]
    if not isinstance(node, AST):
        return node
    cls = getattr(ast, type(node).__name__)
    made = cls(**{name: from_doc(getattr(node, name)) for name in node._FIELDS if name in cls._fields})
    for name in _POSITION:
        if name in cls._attributes and getattr(node, name) is not None:
            setattr(made, name, getattr(node, name))
    return made


__all__ = ["AST", "from_doc", "to_doc"]
__all__ += [name for texts in _CLASSES.values() for name in (text.partition("(")[0] for text in _names(texts))]
