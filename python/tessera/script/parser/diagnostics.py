"""Errors that point at the user's line and column."""

from __future__ import annotations

import ast
from typing import Any

from tessera.error import DiagnosticError


class Source:
    """A script's text and where it stands in its file."""

    def __init__(self, text: str, filename: str = "<string>", first_line: int = 1, indent: int = 0):
        self.lines = text.splitlines()
        self.filename, self.first_line, self.indent = filename, first_line, indent

    def error(self, node: ast.AST | None, message: str) -> DiagnosticError:
        """An error that shows the line of `node` with a mark under it."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", column + 1) if getattr(node, "end_lineno", line) == line else None
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        width = max(1, (end if end is not None else len(text)) - column)
        where = f"{self.filename}:{line + self.first_line - 1}:{column + self.indent + 1}"
        return DiagnosticError(f"{message}\n  --> {where}\n   | {text}\n   | {' ' * column}{'^' * width}")

    def span(self, node: Any) -> Any:
        from tessera import ir

        line = getattr(node, "lineno", 1) + self.first_line - 1
        end_line = getattr(node, "end_lineno", getattr(node, "lineno", 1)) + self.first_line - 1
        return ir.Span(
            ir.SourceName(self.filename),
            line,
            end_line,
            getattr(node, "col_offset", 0) + self.indent + 1,
            getattr(node, "end_col_offset", 0) + self.indent + 1,
        )
