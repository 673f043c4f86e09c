"""The command line: the native program, which does all of it."""

from __future__ import annotations

import sys

from ..._program import main as become_the_program

__all__ = ["main"]


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    sys.stdout.flush()
    become_the_program()


if __name__ == "__main__":
    main()
