"""How the modules of this package are imported. It differs from Python's own way in three points:

- A submodule never replaces something else of its name: `tessera.target.generic_func` is a function, also after
  ``import tessera.target.generic_func``.
- A submodule of v0.10 whose names lie in their package here is that package; see `_submodules`.
- A name of v0.10 that is not there says what to do instead; see `_missing`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import opcode
import sys
import types
from collections.abc import Sequence
from typing import Any

from ._missing import explanation, has_missing_names
from ._submodules import PACKAGE_OF

_NAME = __name__.rpartition(".")[0]
_TVM = "tvm"


class Package(types.ModuleType):
    """A package that keeps its names when a submodule of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType) and not isinstance(self.__dict__.get(name, value), types.ModuleType):
            return
        super().__setattr__(name, value)


class _Loader(importlib.machinery.SourceFileLoader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return Package(spec.name) if spec.submodule_search_locations is not None else None

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        complete(module)


class AliasLoader(importlib.abc.InspectLoader):
    """Gives a module that has another name of its own."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self.real)
        spec.loader_state = (module.__spec__, module.__loader__)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        # The module ran when it was imported under its own name; it keeps that identity.
        alias = module.__spec__
        if alias is not None and isinstance(alias.loader, AliasLoader):
            module.__spec__, module.__loader__ = alias.loader_state

    def _loader(self) -> importlib.abc.InspectLoader | None:
        spec = importlib.util.find_spec(self.real)
        loader = spec.loader if spec is not None else None
        return loader if isinstance(loader, importlib.abc.InspectLoader) else None

    def get_code(self, fullname: str) -> types.CodeType | None:
        """For ``python -m``."""
        loader = self._loader()
        return loader.get_code(self.real) if loader else None

    def get_source(self, fullname: str) -> str | None:
        loader = self._loader()
        return loader.get_source(self.real) if loader else None


class _Finder(importlib.abc.MetaPathFinder):
    """What the other finders find, loaded by `_Loader`; a package in place of its submodule, or an explanation."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_NAME + "."):
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is None:
            return self._instead(fullname)
        if type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec

    @staticmethod
    def _instead(fullname: str) -> importlib.machinery.ModuleSpec | None:
        name = _TVM + fullname[len(_NAME) :]
        if name in PACKAGE_OF:
            return importlib.machinery.ModuleSpec(fullname, AliasLoader(fullname.rpartition(".")[0]))
        # The error names the module as v0.10 does: one of the very name asked for would be dropped by `from ... import`.
        if text := explanation(name):
            raise ModuleNotFoundError(text, name=name)
        return None


def _is_import(frame: types.FrameType) -> bool:
    """True when a frame is at ``from module import name``, which would say nothing of an AttributeError."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def _submodule(package: types.ModuleType, name: str) -> types.ModuleType | None:
    """A submodule that nobody has imported yet: v0.10's packages import most of theirs."""
    fullname = f"{package.__name__}.{name}"
    if name.startswith("_") or importlib.machinery.PathFinder.find_spec(fullname, package.__path__) is None:
        return None
    try:
        return importlib.import_module(fullname)
    except ImportError:  # it needs what is not installed
        return None


def _as_imported(name: str) -> str:
    """The name of a module as a program knows it that says `import tvm`."""
    is_tvm = any(getattr(finder, "is_tessera_alias", False) for finder in sys.meta_path)
    return _TVM + name[len(_NAME) :] if is_tvm else name


def complete(module: types.ModuleType) -> None:
    """Lets a module find what it lacks: its submodules, one that is the module itself, names of the package where the
    module is in the table of submodules, or an error that says what to do."""
    name_of_module = _TVM + module.__name__[len(_NAME) :]
    prefix = name_of_module + "."
    has_submodules, is_partial = name_of_module in PACKAGE_OF.values(), name_of_module in PACKAGE_OF
    is_package = hasattr(module, "__path__")
    if not (has_submodules or is_partial or is_package or has_missing_names(prefix)):
        return
    own = module.__dict__.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if prefix + name in PACKAGE_OF:
            return importlib.import_module(f"{module.__name__}.{name}")
        lacking = AttributeError(f"module {_as_imported(module.__name__)!r} has no attribute {name!r}")
        if own is not None:
            try:
                return own(name)
            except AttributeError as error:
                lacking = error
        if is_partial and not name.startswith("_"):
            package = sys.modules[module.__name__.rpartition(".")[0]]
            if name in package.__dict__:
                return package.__dict__[name]
        if is_package and (submodule := _submodule(module, name)) is not None:
            return submodule
        text = explanation(prefix + name) if not name.startswith("_") else None
        if text is not None and _is_import(sys._getframe(1)):
            raise ImportError(text, name=prefix[:-1])
        raise AttributeError(text) if text is not None else lacking

    module.__dict__["__getattr__"] = __getattr__


sys.meta_path.insert(0, _Finder())
sys.modules[_NAME].__class__ = Package
