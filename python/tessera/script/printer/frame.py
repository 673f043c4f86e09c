"""Parts of the printer's work that end, and what is to be done then."""

from __future__ import annotations

from typing import Any, Callable

from .doc import StmtDoc

__all__ = ["Frame", "MetadataFrame", "VarDefFrame"]


class Frame:
    """A part; its callbacks are called, last first, when it ends."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], Any]] = []

    def add_exit_callback(self, callback: Callable[[], Any]) -> None:
        """Says what to do at the end."""
        self._callbacks.append(callback)

    def __enter__(self) -> Frame:
        return self

    def __exit__(self, *_: Any) -> None:
        while self._callbacks:
            self._callbacks.pop()()


class MetadataFrame(Frame):
    """Objects that have no text of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: list[Any] = []


class VarDefFrame(Frame):
    """Definitions of variables that are used before they are defined."""

    def __init__(self) -> None:
        super().__init__()
        self.stmts: list[StmtDoc] = []
