"""Constructors of passes, made from the tables in which the core names them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from .._ffi.registry import get_global_func
from . import _ffi_transform_api
from .transform import Pass, PassInfo


class PassRow(NamedTuple):
    """What a table says of a pass; `doc` is empty for those that the compiler alone makes."""

    name: str
    parameters: str
    doc: str
    info: PassInfo
    holds: tuple[str, ...]


def pass_rows(prefix: str) -> list[PassRow]:
    """The passes whose constructors are the global functions under a prefix, such as "tir.transform."; none without the compiler."""
    find = get_global_func("transform.PassRows", allow_missing=True)
    rows = find(prefix) if find else []
    return [PassRow(str(n), str(p), str(d), info, tuple(map(str, holds))) for n, p, d, info, holds in rows]


def holds(promise: str, mod: Any) -> bool:
    """Is it true of the module, what passes promise under this name?"""
    return bool(_ffi_transform_api.Holds(promise, mod))


def pass_constructors(prefix: str, module: str) -> dict[str, Callable[..., Pass]]:
    """Functions of the module by name, each with the parameters and the docstring that the table gives."""
    rows = [row for row in pass_rows(prefix) if row.doc]
    texts = []
    for name, parameters, _, _, _ in rows:
        (function,) = ast.parse(f"def {name}({parameters}): pass").body
        assert isinstance(function, ast.FunctionDef)
        given = ", ".join(arg.arg for arg in function.args.args)
        texts.append(f"def {name}({parameters}) -> Pass:\n    return _find('{prefix}{name}')({given})\n")
    scope: dict[str, Any] = {
        "__name__": module,
        "Any": Any,
        "Callable": Callable,
        "Pass": Pass,
        "_find": get_global_func,
    }
    exec("\n".join(texts), scope)
    for row in rows:
        scope[row.name].__doc__ = row.doc
    return {row.name: scope[row.name] for row in rows}
