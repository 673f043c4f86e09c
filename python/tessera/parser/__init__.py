"""Reading the text form of programs."""

from __future__ import annotations

from typing import Any

from . import _ffi_api

__all__ = ["SpanCheck", "fromtext", "parse", "parse_expr"]


def parse(source: str, source_name: str = "from_string", init_module: Any = None, init_meta_table: Any = None) -> Any:
    """The module a text defines. The text begins with `#[version = "0.0.5"]`.

    `init_module` holds functions and types that the text may use, `init_meta_table` objects it refers to as meta[...].
    """
    return _ffi_api.ParseModuleInContext(source_name, source, init_module, init_meta_table or {})


def parse_expr(source: str) -> Any:
    """The expression a text stands for."""
    return _ffi_api.ParseExpr("string", source)


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """The module a text defines."""
    return parse(str(source) + "\n", source_name)


def SpanCheck() -> Any:
    """A pass that rejects modules with expressions whose position in the text is not known."""
    return _ffi_api.SpanCheck()
