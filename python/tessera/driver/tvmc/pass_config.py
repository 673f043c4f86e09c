"""Options of passes as the command line gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _ffi_api
from .exceptions import from_core

__all__ = ["parse_configs"]


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Any]:
    """Texts "name=value" as the `config` of a PassContext, each value of the type that its option has."""
    with from_core():
        return dict(_ffi_api.parse_pass_configs(list(input_configs or [])).items())
