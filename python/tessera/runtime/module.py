"""Modules: functions found by name, compiled or loaded."""

from __future__ import annotations

import os
import struct
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._ffi.registry import register_object
from .._ffi.runtime_ctypes import Device
from .._ffi_core import ModuleBase
from . import _ffi_api
from .packed_func import PackedFunc

__all__ = [
    "BenchmarkResult",
    "Module",
    "ModulePropertyMask",
    "enabled",
    "load_module",
    "load_static_library",
    "num_threads",
    "system_lib",
]

ProfileResult = namedtuple("ProfileResult", ["mean", "results"])


class ModulePropertyMask:
    """What can be done with a kind of module."""

    BINARY_SERIALIZABLE = 0b001
    RUNNABLE = 0b010
    DSO_EXPORTABLE = 0b100


class BenchmarkResult:
    """Run times in seconds: all of them, and their mean, median, min, max and standard deviation."""

    def __init__(self, results: Sequence[float]):
        self.results = results
        self.mean = np.mean(results)
        self.std = np.std(results)
        self.median = np.median(results)
        self.min = np.min(results)
        self.max = np.max(results)

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, "
            f"std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        columns = {"mean": self.mean, "median": self.median, "max": self.max, "min": self.min, "std": self.std}
        head = " ".join(f"{name + ' (ms)':^12}" for name in columns)
        values = " ".join(f"{value * 1000:^12.4f}" for value in columns.values())
        return f"Execution time summary:\n{head}\n{values}\n               "


@register_object("runtime.Module")
class Module(ModuleBase):
    """A module: functions by name, and other modules it imports."""

    entry_name = "__tvm_main__"

    @property
    def entry_func(self) -> PackedFunc:
        """The main function."""
        entry = self.__dict__.get("_entry")
        if entry is None:
            entry = self.__dict__["_entry"] = self.get_function(self.entry_name)
        return entry

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """True when there is a function of that name."""
        return bool(_ffi_api.ModuleImplementsFunction(self, name, query_imports))

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """The function of that name; AttributeError when there is none."""
        found = _ffi_api.ModuleGetFunction(self, name, query_imports)
        if found is None:
            raise AttributeError(f"Module has no function '{name}'")
        return found

    def __getitem__(self, name: str) -> PackedFunc:
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name)

    def import_module(self, module: Module) -> None:
        """Lets code of this module call functions of another."""
        _ffi_api.ModuleImport(self, module)

    @property
    def imported_modules(self) -> list[Module]:
        return [_ffi_api.ModuleGetImport(self, i) for i in range(_ffi_api.ModuleImportsSize(self))]

    @property
    def type_key(self) -> str:
        """The kind of module: "llvm", "cuda", "library", ..."""
        return _ffi_api.ModuleGetTypeKey(self)

    @property
    def format(self) -> str:
        """The form that `save` writes when not told."""
        return _ffi_api.ModuleGetFormat(self)

    @property
    def is_dso_exportable(self) -> bool:
        """True where `save` gives what a linker takes."""
        return bool(_ffi_api.ModuleIsDSOExportable(self))

    def get_source(self, fmt: str = "") -> str:
        """The text form; which ones there are depends on the kind of module."""
        return _ffi_api.ModuleGetSource(self, fmt)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Writes this module, without those it imports; the form is the file's suffix unless given."""
        _ffi_api.ModuleSaveToFile(self, file_name, fmt)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures calls of `func_name` with its arguments.

        After one call that is not counted come `repeat` measurements, each the mean of `number` calls, or of more where
        they take less than `min_repeat_ms` together.
        """
        measure = _ffi_api.RPCTimeEvaluator(
            self,
            func_name,
            dev.device_type,
            dev.device_id,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            f_preproc,
        )

        def evaluate(*args: Any) -> BenchmarkResult:
            return BenchmarkResult(struct.unpack(f"@{repeat}d", measure(*args)))

        return evaluate

    def _reachable(self) -> list[Module]:
        """This module and all it imports, each once."""
        found, seen = [self], {self}
        for module in found:
            for imported in module.imported_modules:
                if imported not in seen:
                    seen.add(imported)
                    found.append(imported)
        return found

    def _collect_from_import_tree(self, filter_func: Callable[[Module], bool]) -> list[Module]:
        return [module for module in self._reachable() if filter_func(module)]

    def _collect_dso_modules(self) -> list[Module]:
        return self._collect_from_import_tree(lambda module: module.is_dso_exportable)

    def export_library(
        self,
        file_name: str,
        fcompile: Any = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Writes the module and all it imports as one library (``.so``) or as an archive of objects (``.tar``).

        `fcompile(file_name, files, **kwargs)` makes the library; the default is the system's C compiler.
        """
        from .export import export_library

        return export_library(self, file_name, fcompile, addons, workspace_dir, **kwargs)

    def __repr__(self) -> str:
        return f"Module({self.type_key}, {self.handle.value:x})"


def system_lib() -> Module:
    """The functions that were linked into this program."""
    return _ffi_api.SystemLib()


class ModuleFileNotFoundError(FileNotFoundError, ValueError):
    """There is no file to load a module from; v0.10's programs catch the ValueError."""


def load_module(path: str, fmt: str = "") -> Module:
    """Loads a module from a file. Objects (``.o``) and archives of them (``.tar``) are linked first."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise ModuleFileNotFoundError(f"cannot find file {path}")
    if path.endswith((".o", ".tar")):
        from ..contrib import cc, tar, utils

        if path.endswith(".tar"):
            folder = utils.tempdir(custom_path=path + "_extract")
            tar.untar(path, folder.relpath(""))
            files = [folder.relpath(name) for name in folder.listdir()]
        else:
            files = [path]
        cc.create_shared(path + ".so", files)
        path += ".so"
    return _ffi_api.ModuleLoadFromFile(path, fmt)


def load_static_library(path: str, func_names: Sequence[str]) -> Module:
    """An object file as a module that other modules can import and be exported with."""
    return _ffi_api.ModuleLoadStaticLibrary(path, func_names)


def enabled(target: str) -> bool:
    """True when this build can make or run code for the target."""
    return bool(_ffi_api.RuntimeEnabled(target))


def num_threads() -> int:
    """How many threads a parallel loop uses."""
    return _ffi_api.NumThreads()
