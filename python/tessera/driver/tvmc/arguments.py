"""Parsers of arguments that say nothing when they fail: for a first look at a command line."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["TVMCSuppressedArgumentParser"]


class TVMCSuppressedArgumentParser(argparse.ArgumentParser):
    """A copy of a parser that neither prints nor exits."""

    def __init__(self, parent: argparse.ArgumentParser, **kwargs: Any) -> None:
        super().__init__(parents=[parent], add_help=False, conflict_handler="resolve", **kwargs)

    def exit(self, status: int = 0, message: str | None = None) -> None:  # type: ignore[override]
        """Nothing happens."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Nothing is said; the caller parses again with the whole parser."""
