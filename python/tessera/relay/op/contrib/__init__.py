"""What external code generators say of themselves: which pieces of a model they take."""

from importlib import import_module as _import_module
from typing import Any as _Any

from .register import _BUILT_IN, get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]


def __getattr__(name: str) -> _Any:
    """`partition_for_<compiler>` and `torchop`; the tables of a compiler are made when they are first asked for."""
    compiler = name.removeprefix("partition_for_")
    if compiler != name and compiler in _BUILT_IN:
        return getattr(_import_module(f"{__name__}.{compiler}"), name)
    if name == "torchop":
        return _import_module(f"{__name__}.libtorch").torchop
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
