"""Passes over loop programs."""

from typing import TYPE_CHECKING, Any

from .function_pass import PrimFuncPass, prim_func_pass
from .transform import *

if TYPE_CHECKING:  # most names are made from the core's table

    def __getattr__(name: str) -> Any: ...
