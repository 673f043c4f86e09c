"""The command line: the native program, which does all of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from ... import _program

__all__ = ["main"]


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    sys.stdout.flush()
    _program.main("tvmc")


def _main(argv: Sequence[str]) -> int:
    """Runs the program with these arguments and returns its exit code; 4 is an error it has told about."""
    sys.stdout.flush()
    return subprocess.run(["tvmc", *map(str, argv)], executable=_program.path(), check=False).returncode


if __name__ == "__main__":
    main()
