"""A decorator that checks the arguments of a function against its annotations."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _name_of(kind: Any) -> str:
    """The annotation as text: int, Optional[str], List[int], ..."""
    if kind is None or kind is type(None):
        return "None"
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if len(parts) == 2 and type(None) in parts:
            return f"Optional[{_name_of(next(part for part in parts if part is not type(None)))}]"
        return f"Union[{', '.join(map(_name_of, parts))}]"
    if origin is collections.abc.Callable:
        return "Callable"
    if origin is not None:
        return f"{origin.__name__.capitalize()}[{', '.join(map(_name_of, parts))}]"
    return getattr(kind, "__name__", str(kind))


def _problem(value: Any, name: str, kind: Any) -> str | None:
    """What is wrong with the value of an argument; None where it is as annotated."""
    wrong = f'"{name}" has type "{_name_of(type(value))}", which is not "{_name_of(kind)}"'
    if kind is Any or isinstance(kind, (str, TypeVar)):
        return None
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind is type(None):
        return None if value is None else wrong
    if origin in (typing.Union, types.UnionType):
        return None if any(_problem(value, name, part) is None for part in parts) else wrong
    if origin is collections.abc.Callable or kind is collections.abc.Callable:
        return None if callable(value) else wrong
    if origin is list:
        if not isinstance(value, (list, tuple)) and type(value).__name__ != "Array":
            return wrong
        found = (_problem(item, f"{name}[{i}]", part) for part in parts for i, item in enumerate(value))
        return next((problem for problem in found if problem), None)
    if origin is tuple:
        if not isinstance(value, tuple):
            return wrong
        if Ellipsis in parts:
            parts = (parts[0],) * len(value)
        if len(parts) != len(value):
            return f'"{name}" has {len(value)} values, not {len(parts)}'
        found = (_problem(item, f"{name}[{i}]", part) for i, (item, part) in enumerate(zip(value, parts)))
        return next((problem for problem in found if problem), None)
    if origin is dict:
        if not isinstance(value, dict):
            return wrong
        key, of = parts
        found = (_problem(k, f"{name} key", key) or _problem(v, f"{name}[{k!r}]", of) for k, v in value.items())
        return next((problem for problem in found if problem), None)
    expected = origin or kind
    is_number = expected is float and isinstance(value, int)
    return None if not isinstance(expected, type) or isinstance(value, expected) or is_number else wrong


def type_checked(func: _Function) -> _Function:
    """Raises a TypeError that names the argument where one is not of its annotated type."""
    signature = inspect.signature(func)

    @functools.wraps(func)
    def wrap(*args: Any, **kwargs: Any) -> Any:
        hints = typing.get_type_hints(func)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if name not in hints or kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                continue
            problem = _problem(value, name, hints[name])
            if problem:
                raise TypeError(f'In "{func.__qualname__}", {problem}')
        return func(*args, **kwargs)

    return wrap  # type: ignore[return-value]
