"""The command line: the native program, and commands that users add to it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Callable

from ... import _program
from .exceptions import TVMCException, TVMCImportError

__all__ = ["REGISTERED_PARSER", "main", "register_parser"]

#: Functions (subparsers, parser of the program, defaults from JSON) that each add a command.
REGISTERED_PARSER: list[Callable[[Any, argparse.ArgumentParser, list[dict[str, Any]]], Any]] = []

#: Exit codes of errors that are told to the user.
_ERRORS = {TVMCImportError: 5, TVMCException: 4}


def register_parser(make_subparser: Callable) -> Callable:
    """Registers a function that adds a command: its parser's default `func(args)` does the work and gives the exit code."""
    REGISTERED_PARSER.append(make_subparser)
    return make_subparser


def native(args: argparse.Namespace) -> int:
    """The work of commands that the program has."""
    return subprocess.run(["tvmc", *args.words], executable=_program.path(), check=False).returncode


def _added(words: Sequence[str]) -> argparse.ArgumentParser | None:
    """The parser where the words name a command that a user has registered."""
    parser = argparse.ArgumentParser(prog="tvmc", description="TVM compiler driver", add_help=False)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands")
    for add in REGISTERED_PARSER:
        if not getattr(add, "is_native", False):
            add(commands, parser, [])
    command = next((word for word in words if not word.startswith("-")), None)
    return parser if command in commands.choices else None


def _main(argv: Sequence[str]) -> int:
    """Runs a command with these arguments and returns its exit code; 4 is an error it has told about."""
    sys.stdout.flush()
    words = list(map(str, argv))
    parser = _added(words)
    if parser is None:
        return native(argparse.Namespace(words=words))
    args = parser.parse_args(words)
    try:
        return args.func(args) or 0
    except (TVMCException, TVMCImportError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return next(code for kind, code in _ERRORS.items() if isinstance(error, kind))


def main() -> None:
    """Becomes the program with the arguments of this process, or runs a command that a user has registered."""
    sys.stdout.flush()
    if _added(sys.argv[1:]) is not None:
        sys.exit(_main(sys.argv[1:]))
    _program.main("tvmc")


if __name__ == "__main__":
    main()
