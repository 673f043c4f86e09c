"""Options of passes as the command line gives them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from .. import _ffi_api
from .exceptions import TVMCException, from_core

__all__ = ["get_pass_config_value", "load_function", "parse_configs"]

_LOWER_PASSES = "tir.add_lower_pass"


def load_function(full_name: str) -> Callable[..., Any]:
    """The function that "package.module.name" says."""
    module, _, name = full_name.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _pass_named(name: str) -> Any:
    """A pass of `tir.transform`, or a function of a program."""
    with from_core():
        try:
            (pair,) = _ffi_api.parse_pass_configs([f"{_LOWER_PASSES}=0,{name}"])[_LOWER_PASSES]
            return pair[1]
        except (ValueError, TypeError, AttributeError) as error:
            unknown = error
    try:
        return load_function(name)
    except (ImportError, AttributeError, ValueError):
        raise TVMCException(str(unknown)) from None


def _lower_passes(value: str) -> list[tuple[int, Any]]:
    words = [word.strip() for word in value.split(",")]
    if len(words) % 2:
        raise TVMCException(
            f"the configuration of '{_LOWER_PASSES}' must be of the form "
            f"'{_LOWER_PASSES}=opt_level1,pass1,opt_level2,pass2', not '{value}'"
        )
    out = []
    for level, name in zip(words[::2], words[1::2]):
        try:
            number = int(level)
        except ValueError:
            raise TVMCException(f"only integers are allowed for the level of a pass, not '{level}'") from None
        out.append((number, _pass_named(name)))
    return out


def get_pass_config_value(name: str, value: str, config_type: str) -> Any:
    """The value of an option, from its text; `config_type` is what the core calls its type."""
    if config_type == "Array":
        if name != _LOWER_PASSES:
            raise TVMCException(f"Unsupported configuration '{name}' for '{config_type}' type.")
        return _lower_passes(value)
    with from_core():
        return _ffi_api.parse_pass_configs([f"{name}={value}"])[name]


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Any]:
    """Texts "name=value" as the `config` of a PassContext, each value of the type that its option has.

    Several texts of passes to add (`tir.add_lower_pass`) add up; such a pass may be a function of the caller's own module.
    """
    out: dict[str, Any] = {}
    for text in input_configs or []:
        name, is_given, value = (part.strip() for part in text.partition("="))
        if is_given and name == _LOWER_PASSES:
            out.setdefault(name, []).extend(_lower_passes(value))
            continue
        with from_core():
            out.update(_ffi_api.parse_pass_configs([text]).items())
    return out
