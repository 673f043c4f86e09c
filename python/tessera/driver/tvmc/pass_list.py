"""Names of passes as the command line gives them."""

from __future__ import annotations

from .. import _ffi_api
from .exceptions import from_core

__all__ = ["parse_pass_list_str"]


def parse_pass_list_str(input_string: str) -> list[str]:
    """Names between commas, of an empty text one empty name; a pass that does not exist is a TVMCException that lists those
    that do."""
    if not input_string:
        return [""]
    with from_core():
        return [str(name) for name in _ffi_api.parse_pass_list(input_string)]
