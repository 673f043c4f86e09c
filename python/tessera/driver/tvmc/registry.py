"""Flags for what is chosen by name and has options: executors and runtimes."""

from __future__ import annotations

import argparse
from typing import Any

from .exceptions import TVMCException

__all__ = ["generate_registry_args", "reconstruct_registry_entity"]

_TYPES: dict[str, Any] = {"IntImm": int, "Bool": int, "runtime.String": str}


def _word(registry: Any) -> str:
    """ "executor" of Executor."""
    return str(registry.__name__).lower()


def generate_registry_args(parser: argparse.ArgumentParser, registry: Any, default: str | None = None) -> None:
    """Gives a parser --<word> (of `default`), and --<word>-<name>-<option> for each option of each of its names."""
    word, names = _word(registry), registry.list_registered()
    parser.add_argument(f"--{word}", default=default, help=f"{word} to compile the model with: {', '.join(names)}")
    for name in names:
        group = parser.add_argument_group(f"{word} {name}")
        for option, what in registry.list_registered_options(name).items():
            kind = _TYPES.get(str(what))
            if kind is not None:
                group.add_argument(f"--{word}-{name}-{option}", type=kind, help=f"{word} {name} {option}")


def reconstruct_registry_entity(args: argparse.Namespace, registry: Any) -> Any:
    """What the flags choose, with its options; None where nothing is chosen. Options of another name are an error."""
    word = _word(registry)
    chosen = getattr(args, word, None)
    given: dict[str, dict[str, Any]] = {}
    for name in registry.list_registered():
        for option in registry.list_registered_options(name):
            value = getattr(args, f"{word}_{name}_{option}".replace("-", "_"), None)
            if value is not None:
                given.setdefault(name, {})[option] = value
    for name, options in given.items():
        if name != chosen:
            option = next(iter(options))
            raise TVMCException(f"Passed --{word}-{name}-{option} but did not specify {name} {word}")
    return registry(chosen, given.get(chosen, {})) if chosen is not None else None
