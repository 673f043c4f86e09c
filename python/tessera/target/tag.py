"""Names for well-known machines."""

from __future__ import annotations

from typing import Any

from . import _ffi_api


def list_tags() -> dict:
    """All tags with the targets they stand for."""
    return dict(_ffi_api.TargetTagListTags().items())


def register_tag(name: str, config: dict, override: bool = False) -> Any:
    """Makes Target(name) stand for `config`."""
    return _ffi_api.TargetTagAddTag(name, config, override)
