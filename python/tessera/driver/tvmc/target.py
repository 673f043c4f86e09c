"""Targets as the command line names them."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from typing import Any

from ...target import Target, TargetKind
from .. import _ffi_api
from .exceptions import TVMCException, from_core

__all__ = [
    "generate_target_args",
    "is_inline_json",
    "parse_target",
    "reconstruct_target_args",
    "target_from_cli",
    "tokenize_target",
    "validate_targets",
]

#: Options that a command line may give, by the type that the core names.
_TYPES = {"IntImm": int, "runtime.String": str, "Array": str}


def _flag_options(kind: str) -> dict[str, type]:
    options = TargetKind.options_from_name(kind)
    return {str(name): _TYPES[str(what)] for name, what in options.items() if str(what) in _TYPES}


def generate_target_args(parser: argparse.ArgumentParser) -> None:
    """Gives a parser --target and a flag --target-<kind>-<option> for each option of each kind."""
    parser.add_argument("--target", help="what to compile for: a text, JSON, or the path of a JSON file")
    for kind in Target.list_kinds():
        options = _flag_options(str(kind))
        if options:
            group = parser.add_argument_group(f"target {kind}")
        for name, what in options.items():
            group.add_argument(f"--target-{kind}-{name}", type=what, help=f"target {kind} {name}")


def reconstruct_target_args(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Options by kind, of the flags that were given."""
    out: dict[str, dict[str, Any]] = {}
    for kind in map(str, Target.list_kinds()):
        for name in _flag_options(kind):
            value = getattr(args, f"target_{kind}_{name}".replace("-", "_"), None)
            if value is not None:
                out.setdefault(kind, {})[name] = value
    return out


def is_inline_json(target: str) -> bool:
    """True when a text is JSON."""
    try:
        json.loads(target)
    except json.JSONDecodeError:
        return False
    return True


def tokenize_target(target: str) -> list[str]:
    """The words of a text of targets; commas between targets are words, those inside an option's value are not."""
    value = r"""(?:'[^']*'|"[^"]*"|[^\s,'"]|,(?=[^\s,]))*"""
    return re.findall(rf"-[^\s,=]+={value}|[^\s,]+|,", target)


def parse_target(target: str) -> list[dict[str, Any]]:
    """What each target of a comma list is called ("name"), its options ("opts"), its text ("raw"), and whether it is a
    kind of target rather than an external code generator ("is_tvm_target")."""
    groups: list[list[str]] = [[]]
    for token in tokenize_target(target):
        if token == ",":
            groups.append([])
        else:
            groups[-1].append(token)
    kinds = set(map(str, Target.list_kinds()))
    out = []
    for words in filter(None, groups):
        options = {}
        for word in words[1:]:
            if not word.startswith("-"):
                raise TVMCException(f"an option of the target {words[0]} begins with -, which {word!r} does not")
            name, _, value = word.lstrip("-").partition("=")
            options[name] = value.strip("'\"")
        entry = {"name": words[0], "opts": options, "raw": " ".join(words), "is_tvm_target": words[0] in kinds}
        out.append(entry)
    return out


def validate_targets(
    parse_targets: list[dict[str, Any]], additional_target_options: Mapping[str, Any] | None = None
) -> None:
    """An error unless the last of the targets is a kind of target, there are at most two such, and none twice."""
    names = [entry["name"] for entry in parse_targets]
    kinds = [entry["name"] for entry in parse_targets if entry["is_tvm_target"]]
    if not names or not parse_targets[-1]["is_tvm_target"]:
        known = ", ".join(map(str, Target.list_kinds()))
        raise TVMCException(f"The last target needs to be a TVM target. Choices: {known}")
    if len(kinds) > 2:
        raise TVMCException(f"Only one of the following targets can be used at a time. Found: {', '.join(kinds)}.")
    if len(set(names)) < len(names):
        raise TVMCException("Duplicate target definitions are not allowed")
    for kind in additional_target_options or {}:
        if kind not in names:
            raise TVMCException(f'Passed --target-{kind}-... but did not specify "{kind}" target')


def target_from_cli(
    target: Any, additional_target_options: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[Target, list[Any]]:
    """The target that a text names (see `target_from_text` in src/driver/option_text.h), and external code generators.

    Of the latter there are none yet: the list is empty, and a text that names one is an error. A Target is itself.
    """
    if isinstance(target, (Target, dict)):
        with from_core():
            return Target(target), []
    options = {
        str(kind): {str(name): str(value) for name, value in values.items() if value is not None}
        for kind, values in (additional_target_options or {}).items()
    }
    with from_core():
        return _ffi_api.target_from_text(target, options), []
