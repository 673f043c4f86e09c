"""Passes over Relay programs."""

from typing import TYPE_CHECKING, Any

from .language import *
from .transform import *

if TYPE_CHECKING:  # most names are made from the core's table

    def __getattr__(name: str) -> Any: ...
