"""Passes over Relay programs."""

import typing as _typing

from .language import *
from .transform import *

if _typing.TYPE_CHECKING:  # most names are made from the core's table

    def __getattr__(name: str) -> _typing.Any: ...
