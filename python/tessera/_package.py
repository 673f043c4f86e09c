"""How the modules of this package are imported. It differs from Python's own way in one point:

- A submodule never takes the place of something else of its name: `tessera.target.generic_func` is a function, also after
  ``import tessera.target.generic_func``.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

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


class _Finder(importlib.abc.MetaPathFinder):
    """What the other finders find, loaded by `_Loader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_NAME + "."):
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder())
sys.modules[_NAME].__class__ = Package
