"""Targets as the command line names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...target import Target
from .. import _ffi_api
from .exceptions import from_core

__all__ = ["target_from_cli"]


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
