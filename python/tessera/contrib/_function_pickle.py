"""Pickles that also hold functions which cannot be imported: nested ones, lambdas, those of `__main__`.

Such a function travels as its code with the values it closes over and the globals it names. Both sides run the same Python.
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import sys
import types
from typing import Any

__all__ = ["dumps", "loads"]


def _is_importable(function: types.FunctionType) -> bool:
    if function.__module__ in (None, "__main__"):
        return False
    thing: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        thing = getattr(thing, name, None)
    return thing is function


def _names(code: types.CodeType) -> set[str]:
    """Globals that code may read, also from functions inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _rebuild(code: bytes, name: str, defaults: Any, keywords: Any, cells: Any, names: dict[str, Any]) -> Any:
    scope = {"__builtins__": __builtins__, "__name__": "__main__", **names}
    closure = tuple(types.CellType(value) for value in cells)
    function = types.FunctionType(marshal.loads(code), scope, name, defaults, closure)
    function.__kwdefaults__ = keywords
    scope.setdefault(name, function)  # it may call itself
    return function


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if not isinstance(value, types.FunctionType) or _is_importable(value):
            return NotImplemented
        scope = value.__globals__
        names = {name: scope[name] for name in _names(value.__code__) if name in scope and scope[name] is not value}
        cells = tuple(cell.cell_contents for cell in value.__closure__ or ())
        parts = (marshal.dumps(value.__code__), value.__name__, value.__defaults__, value.__kwdefaults__)
        return _rebuild, (*parts, cells, names)


def dumps(value: Any) -> bytes:
    """The bytes of a value."""
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


loads = pickle.loads
