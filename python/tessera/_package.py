"""How the modules of this package are imported. It differs from Python's own way in two points:

- A submodule never takes the place of something else of its name: `tessera.target.generic_func` is a function, also after
  ``import tessera.target.generic_func``.
- A name of v0.10 that is not there says what to do instead; see `_missing`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import opcode
import sys
import types
from collections.abc import Sequence
from typing import Any

from ._missing import explanation, has_missing_names

_NAME = __name__.rpartition(".")[0]


class Package(types.ModuleType):
    """A package that keeps its names when a submodule of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        is_submodule = isinstance(value, types.ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if is_submodule and not isinstance(self.__dict__.get(name, value), types.ModuleType):
            return
        super().__setattr__(name, value)


class _Loader(importlib.machinery.SourceFileLoader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return Package(spec.name) if spec.submodule_search_locations is not None else None

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        explain_missing_names(module)


class _Finder(importlib.abc.MetaPathFinder):
    """What the other finders find, loaded by `_Loader`; an explanation where they find nothing."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_NAME + "."):
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is None:
            self._explain(fullname)
        elif type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec

    @staticmethod
    def _explain(fullname: str) -> None:
        # The error names the module as v0.10 does: one of the very name asked for would be dropped by `from ... import`.
        name = "tvm" + fullname[len(_NAME) :]
        if text := explanation(name):
            raise ModuleNotFoundError(text, name=name)


def _is_import(frame: types.FrameType) -> bool:
    """True when a frame is at ``from module import name``, which would say nothing of an AttributeError."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def explain_missing_names(module: types.ModuleType) -> None:
    """Makes the error of an attribute of v0.10 that the module lacks say what to do."""
    prefix = "tvm" + module.__name__[len(_NAME) :] + "."
    if not has_missing_names(prefix):
        return
    own = module.__dict__.get("__getattr__")

    def __getattr__(name: str) -> Any:
        text = explanation(prefix + name) if not name.startswith("_") else None
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                if text is None:
                    raise
        if text is not None and _is_import(sys._getframe(1)):
            raise ImportError(text, name=prefix[:-1])
        raise AttributeError(text or f"module {module.__name__!r} has no attribute {name!r}")

    module.__dict__["__getattr__"] = __getattr__


sys.meta_path.insert(0, _Finder())
sys.modules[_NAME].__class__ = Package
