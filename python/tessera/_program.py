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


def main(name: str | None = None) -> None:
    """Becomes the program, which is called `name`, or as this process is: `tvmc` keeps what v0.10 promises of it."""
    program = path()
    called = name or Path(sys.argv[0]).name
    os.environ.setdefault("TESSERA_PYTHON", sys.executable)  # what the program asks for other runtimes
    os.execv(program, ["tvmc" if called == "tvmc" else program, *sys.argv[1:]])
