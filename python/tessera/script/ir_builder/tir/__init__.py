"""Functions of loops and buffers; other names are those of `tvm.tir`."""

from typing import Any as _Any

from .... import tir as _tir
from . import frame as frame
from .ir import *
from .ir import axis as axis

#: Expressions that scripts write in small letters.
_SMALL = {"broadcast": "Broadcast", "ramp": "Ramp", "shuffle": "Shuffle"}


def __getattr__(name: str) -> _Any:
    """Expressions: `sin`, `ramp`, `Select`, and all else of `tvm.tir`."""
    name = _SMALL.get(name, name)
    if not name.startswith("_") and hasattr(_tir, name):
        return getattr(_tir, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
