"""The command `tessera`: the program that lies beside the libraries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main", "path"]


def path() -> str:
    """Where the program is."""
    program = Path(__file__).parent / "bin" / "tessera"
    if not program.exists():
        sys.exit(f"tessera: {program} is missing; this installation has the runtime alone")
    return str(program)


def main() -> None:
    """Becomes the program."""
    program = path()
    os.environ.setdefault("TESSERA_PYTHON", sys.executable)  # what the program asks for other runtimes
    os.execv(program, [program, *sys.argv[1:]])
