"""What is wrong with a program and where: diagnostics, and how they are shown.

An error carries the text of its diagnostics. A function given to `override_renderer` sees them as objects first.
"""

from __future__ import annotations

import enum
from typing import Any, Callable

from ..._ffi.registry import register_object
from ...runtime import Object
from . import _ffi_api

__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
]


class DiagnosticLevel(enum.IntEnum):
    """How bad it is; a smaller number is worse."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@register_object("Diagnostic")
class Diagnostic(Object):
    """One message about one span."""

    def __init__(self, level: int, span: Any, message: str):
        self.__init_handle_by_constructor__(_ffi_api.Diagnostic, int(level), span, message)


@register_object("DiagnosticRenderer")
class DiagnosticRenderer(Object):
    """Shows the diagnostics of a context, by a function of it."""

    def __init__(self, render_func: Callable[[Any], None] | None):
        self.__init_handle_by_constructor__(_ffi_api.DiagnosticRenderer, render_func)

    def render(self, ctx: Any) -> None:
        """Shows the diagnostics of the context."""
        _ffi_api.DiagnosticRendererRender(self, ctx)


@register_object("DiagnosticContext")
class DiagnosticContext(Object):
    """Collects diagnostics about a module."""

    def __init__(self, module: Any, renderer: DiagnosticRenderer | None = None):
        self.__init_handle_by_constructor__(_ffi_api.DiagnosticContext, module, renderer)

    def emit(self, diagnostic: Diagnostic) -> None:
        """Adds one."""
        _ffi_api.Emit(self, diagnostic)

    def render(self) -> None:
        """Shows all of them; raises DiagnosticError when one is an error."""
        _ffi_api.DiagnosticContextRender(self)

    def text(self, diagnostic: Diagnostic) -> str:
        """The message with the lines of the program that it is about."""
        return _ffi_api.Text(self, diagnostic)


def get_renderer() -> DiagnosticRenderer:
    """The renderer in use."""
    return _ffi_api.GetRenderer()


def override_renderer(render_func: Callable[[Any], None] | None) -> None:
    """Lets a function see every context of diagnostics before its error is raised; None takes that back."""
    _ffi_api.SetRenderer(DiagnosticRenderer(render_func) if render_func else None)
