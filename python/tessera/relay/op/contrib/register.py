"""Tables of patterns by the name of a code generator, for `relay.transform.MergeComposite`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["get_pattern_table", "register_pattern_table"]

_TABLES: dict[str, Any] = {}
#: Code generators whose tables lie in modules of this package.
_BUILT_IN = ("cublas", "cudnn", "cutlass", "dnnl", "tensorrt")


def register_pattern_table(compiler: str, table: Callable[[], Any] | None = None) -> Any:
    """Makes `table()` the patterns of a code generator: (name, pattern) or (name, pattern, check) each; also a decorator."""

    def register(function: Callable[[], Any]) -> Callable[[], Any]:
        _TABLES[compiler] = function()
        return function

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Any:
    """The patterns of a code generator; None where none were registered."""
    if compiler not in _TABLES and compiler in _BUILT_IN:
        importlib.import_module(f"{__package__}.{compiler}")
    return _TABLES.get(compiler)
