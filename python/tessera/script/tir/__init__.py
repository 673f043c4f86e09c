"""The names that scripts use under `T`.

Types, `prim_func` and `Buffer` are objects of their own, since annotations are evaluated by Python. Everything else
is looked up by the parser, which alone gives it meaning; outside a script such a name says so when it is called.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..parser import prim_func as prim_func
from ..parser.annotations import Buffer as Buffer
from ..parser.annotations import Ptr as Ptr
from ..parser.annotations import ScriptType, is_scalar_type
from ..parser.annotations import Tuple as Tuple


class _ScriptName:
    """A name that only means something inside a script."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> _ScriptName:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return _ScriptName(f"{self._name}.{attribute}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"T.{self._name} only means something inside a function under @T.prim_func")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("intrin", "node", "ty"):
        return importlib.import_module(f"{__name__}.{name}")
    return ScriptType(name) if is_scalar_type(name) else _ScriptName(name)
