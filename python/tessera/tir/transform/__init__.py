"""Passes over loop programs."""

import typing as _typing

from .function_pass import PrimFuncPass, prim_func_pass
from .transform import *

if _typing.TYPE_CHECKING:  # most names are made from the core's table

    def __getattr__(name: str) -> _typing.Any: ...
