"""Errors that point at the user's line and column."""

from __future__ import annotations

import ast
import re
from typing import Any

from tessera.error import DiagnosticError


class Source:
    """A script's text and where it stands in its file."""

    def __init__(self, text: str, filename: str = "<string>", first_line: int = 1, indent: int = 0):
        self.lines = text.splitlines()
        self.filename, self.first_line, self.indent = filename, first_line, indent
        self.is_printed = False  # by the script printer, whose comments then count

    def error(self, node: ast.AST | None, message: str) -> DiagnosticError:
        """An error that shows the line of `node` with a mark under it."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = self._column(line, getattr(node, "col_offset", 0))
        is_one_line = getattr(node, "end_lineno", None) == line
        end = self._column(line, getattr(node, "end_col_offset", 0)) if is_one_line else len(text)
        where = f"{self.filename}:{line + self.first_line - 1}:{column + self.indent + 1}"
        mark = " " * column + "^" * max(1, end - column)
        error = DiagnosticError(f"{message}\n  --> {where}\n   | {text}\n   | {mark}")
        error.diagnostic = (message, self.span(node))  # type: ignore[attr-defined]
        return error

    def _column(self, line: int, offset: int) -> int:
        """A column in characters from one in bytes, which is how Python's trees count."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore"))

    def printed_root(self, node: ast.FunctionDef) -> tuple[bool, str | None]:
        """(whether the printer wrote this text, the name of the root block that it mentions in a comment)."""
        if not self.is_printed:
            return False, None
        for line in self.lines[node.lineno - 1 : node.end_lineno]:
            found = re.fullmatch(r'# with \w+\.block\((".*")\)', line.strip())
            if found:
                return True, ast.literal_eval(found.group(1))
        return True, None

    def show(self, error: DiagnosticError) -> None:
        """Hands the error to the renderer that a user has put in place of the default one."""
        from tessera import ir
        from tessera.ir import diagnostics

        if not hasattr(error, "diagnostic"):
            return
        message, span = error.diagnostic
        renderer = diagnostics.get_renderer()
        context = diagnostics.DiagnosticContext(ir.IRModule(), renderer)
        context.emit(diagnostics.Diagnostic(diagnostics.DiagnosticLevel.ERROR, span, message))
        renderer.render(context)

    def span(self, node: Any) -> Any:
        from tessera import ir

        first = int(getattr(node, "lineno", 1))
        line = first + self.first_line - 1
        end_line = int(getattr(node, "end_lineno", None) or first) + self.first_line - 1
        return ir.Span(
            ir.SourceName(self.filename),
            line,
            end_line,
            getattr(node, "col_offset", 0) + self.indent + 1,
            (getattr(node, "end_col_offset", None) or 0) + self.indent + 1,
        )
