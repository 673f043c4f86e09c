"""Lists of objects in place of libraries, for programs that link nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["build"]


def build(output: str, files: Any) -> None:
    """Writes the names of files, one a line."""
    with open(output, "w", encoding="utf-8") as file:
        for name in files:
            file.write(f"{name}\n")
