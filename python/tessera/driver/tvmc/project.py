"""Options of microTVM projects: reading, checking, describing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .exceptions import TVMCException
from .fmtopt import format_option

__all__ = [
    "check_options",
    "check_options_choices",
    "get_and_check_options",
    "get_options",
    "get_project_dir",
    "get_project_options",
]


def get_project_dir(project_dir: str | os.PathLike) -> str:
    """The folder of a project as an absolute path; a TVMCException where there is none."""
    path = Path(project_dir).resolve()
    if not path.is_dir():
        raise TVMCException(f"Project dir '{project_dir}' is not a directory, or does not exist")
    return str(path)


def get_project_options(project_info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Options that a project server tells, each with its name, choices and a text for help."""
    options = []
    for option in project_info["project_options"]:
        name, help_text = option["name"], option.get("help", "")
        required, optional = option.get("required"), option.get("optional")
        default, choices = option.get("default"), option.get("choices")
        text = name if choices is None else f"{name}={{{', '.join(choices)}}}"
        about = help_text[:1].upper() + help_text[1:]
        about += "" if about.endswith(".") or not about else "."
        entry: dict[str, Any] = {"name": name, "choices": choices}
        for methods, is_required in ((required, True), (optional, False)):
            if methods:
                entry["required" if is_required else "optional"] = list(methods)
        default_text = f"Defaults to '{default}'." if default is not None else "Defaults to None."
        entry["help_text"] = format_option(text, about, default_text, bool(required))
        options.append(entry)
    return options


def get_options(options: Sequence[str]) -> dict[str, str]:
    """Texts "name=value" by name."""
    out = {}
    for option in options:
        name, is_given, value = option.partition("=")
        if not is_given:
            raise TVMCException(f"Invalid option format: {option}. Please use OPTION=VALUE.")
        out[name] = value
    return out


def check_options(options: Mapping[str, str], valid_options: Sequence[Mapping[str, Any]]) -> None:
    """A TVMCException unless all required options are there and no other is."""
    known = [option["name"] for option in valid_options]
    for option in valid_options:
        if option.get("required") and option["name"] not in options:
            raise TVMCException(
                f"Option '{option['name']}' is required but was not specified. Use --list-options to see."
            )
    for name in options:
        if name not in known:
            raise TVMCException(f"Option '{name}' is invalid. Use --list-options to list all options.")


def check_options_choices(options: Mapping[str, str], valid_options: Sequence[Mapping[str, Any]]) -> None:
    """A TVMCException where an option has a value that is none of its choices."""
    for option in valid_options:
        value, choices = options.get(option["name"]), option.get("choices")
        if value is not None and choices and value not in choices:
            raise TVMCException(
                f"Choice '{value}' for option '{option['name']}' is invalid. Use --list-options to see the choices."
            )


def get_and_check_options(
    passed_options: Sequence[str] | None, valid_options: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Options read from texts and checked."""
    options = get_options(passed_options or [])
    check_options(options, valid_options)
    check_options_choices(options, valid_options)
    return options
