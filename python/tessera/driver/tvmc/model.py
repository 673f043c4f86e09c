"""What goes from step to step: a model, its compiled package, and what a run gave."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any, TextIO

import numpy as np

from ... import relay
from ...contrib import utils
from ...ir import IRModule, load_json, save_json
from ...relay.backend.executor_factory import GraphExecutorFactoryModule, VMExecutorFactoryModule
from ...runtime import _ffi_api as _runtime_api
from ...runtime.module import BenchmarkResult
from ...runtime.vm import Executable
from .. import _ffi_api
from .exceptions import TVMCException, from_core

__all__ = ["TVMCModel", "TVMCPackage", "TVMCResult"]


class TVMCModel:
    """A model that can be tuned and compiled: the module `mod` and the values of its parameters, `params`.

    Made of both, or of the path of one that was saved. It has a folder of its own for tuning records and the package.
    """

    def __init__(
        self,
        mod: IRModule | None = None,
        params: Mapping[str, Any] | None = None,
        model_path: str | os.PathLike | None = None,
    ):
        if (mod is None or params is None) and model_path is None:
            raise OSError(
                "a TVMCModel is made of a module and its parameters, or of the path of a saved one (model_path)"
            )
        self._tmp_dir = utils.tempdir()
        if mod is not None and params is not None:
            self.mod, self.params = mod, dict(params)
        else:
            assert model_path is not None
            self.load(model_path)

    def save(self, model_path: str | os.PathLike) -> None:
        """Writes the model, with its tuning records and its package where there are, as one archive."""
        members: dict[str, Any] = {
            "model.json": bytearray(save_json(self.mod).encode()),
            "model.params": bytearray(relay.save_param_dict(self.params)),
        }
        for name, path in self._companions().items():
            if os.path.exists(path):
                with open(path, "rb") as file:
                    members[name] = bytearray(file.read())
        _runtime_api.WriteTar(os.fspath(model_path), members)

    def load(self, model_path: str | os.PathLike) -> None:
        """Reads what `save` wrote."""
        path = os.fspath(model_path)
        with from_core():
            members = {str(name): bytes(data) for name, data in _runtime_api.ReadTar(path).items()}
        if "model.json" not in members or "model.params" not in members:
            held = ", ".join(sorted(members)) or "nothing"
            raise TVMCException(f"{path} is no saved model: it has no model.json and model.params. It holds {held}")
        with from_core():
            self.mod = load_json(members["model.json"].decode())
            self.params = dict(relay.load_param_dict(members["model.params"]).items())
        if not isinstance(self.mod, IRModule):
            raise TVMCException(f"{path}: model.json holds no module")
        for name, target in self._companions().items():
            if name in members:
                with open(target, "wb") as file:
                    file.write(members[name])

    def _companions(self) -> dict[str, str]:
        return {"tuning_records": self.default_tuning_records_path(), "model_package.tar": self.default_package_path()}

    def default_tuning_records_path(self) -> str:
        """Where tuning records of this model go when no other path is given."""
        return self._tmp_dir.relpath("tuning_records")

    def default_package_path(self) -> str:
        """Where the compiled package goes when no other path is given."""
        return self._tmp_dir.relpath("model_package.tar")

    def export_package(
        self,
        executor_factory: Any,
        package_path: str | os.PathLike | None = None,
        cross: Any = None,
        cross_options: str | None = None,
        output_format: str = "so",
    ) -> str:
        """Writes what a build gave as a package and returns its path.

        The library in it is linked ("so") or an archive of objects ("tar"); `cross` is the compiler that links it.
        """
        if output_format == "mlf":
            raise TVMCException(
                'Model Library Format ("mlf") needs microTVM, which is not there yet; use "so" or "tar"'
            )
        if output_format not in ("so", "tar"):
            raise TVMCException(f'the output format is "so", "tar" or "mlf", not "{output_format}"')
        if isinstance(executor_factory, VMExecutorFactoryModule):
            executor_factory = executor_factory.executable
        if isinstance(executor_factory, Executable):
            return self.export_vm_format(executor_factory, package_path, output_format, cross, cross_options)
        return self.export_classic_format(executor_factory, package_path, cross, cross_options, output_format)

    def export_classic_format(
        self,
        executor_factory: GraphExecutorFactoryModule,
        package_path: str | os.PathLike | None = None,
        cross: Any = None,
        cross_options: str | None = None,
        lib_format: str = "so",
    ) -> str:
        """Writes a package of library, graph and parameters."""
        built = {
            "executor": "graph",
            "graph_json": executor_factory.get_graph_json(),
            "params": executor_factory.get_params(),
            "library": executor_factory.get_lib(),
        }
        return self._write(built, package_path, cross, cross_options, lib_format)

    def export_vm_format(
        self,
        vm_exec: Executable,
        package_path: str | os.PathLike | None = None,
        lib_format: str = "so",
        cross: Any = None,
        cross_options: str | None = None,
    ) -> str:
        """Writes a package of a program for the virtual machine."""
        built = {"executor": "vm", "runnable": vm_exec.mod}
        return self._write(built, package_path, cross, cross_options, lib_format)

    def _write(self, built: dict[str, Any], path: Any, cross: Any, options: str | None, form: str) -> str:
        if options and not cross:
            raise TVMCException(f"cross_options ({options}) are for a cross compiler, and none is named")
        path = os.fspath(path) if path is not None else self.default_package_path()
        if form == "so" and not callable(cross):
            with from_core():
                _ffi_api.export_package(built, path, cross or "", (options or "").split())
            return path
        with utils.tempdir() as folder:  # linked by a function of the user's, or not at all
            file = folder.relpath("mod." + form)
            library = built["library"] if built["executor"] == "graph" else built["runnable"]
            library.export_library(file, cross or None)
            _runtime_api.WritePackage(path, file, built.get("graph_json", ""), built.get("params", {}))
        return path

    def summary(self, file: TextIO | None = None) -> None:
        """Prints the model."""
        print(self.mod, file=file)


def check_output_format(output_format: str) -> None:
    """A TVMCException where there is no such format of libraries."""
    if output_format == "mlf":
        raise TVMCException('Model Library Format ("mlf") needs microTVM, which is not there yet; use "so" or "tar"')
    if output_format not in ("so", "tar"):
        raise TVMCException(f'the output format is "so", "tar" or "mlf", not "{output_format}"')


class TVMCPackage:
    """A compiled model on disk: its `type` ("classic", "vm" or "mlf"), and what it holds."""

    _folder_of_model: Any = None  # keeps the folder of the model where the package lies there

    def __init__(self, package_path: str | os.PathLike, project_dir: str | os.PathLike | None = None):
        if project_dir is not None:
            raise TVMCException("project folders belong to microTVM, which is not there yet")
        self._tmp_dir = utils.tempdir()
        self.project_dir = None
        self.import_package(package_path)

    def import_package(self, package_path: str | os.PathLike) -> None:
        """Reads and checks a package."""
        self.package_path = os.fspath(package_path)
        with from_core():
            held = _runtime_api.ReadPackage(self.package_path)
        self.type = str(held["type"])
        if self.type == "model":
            raise TVMCException(
                f"{self.package_path} holds a model that is not compiled: TVMCModel(model_path=...) reads it"
            )
        self.lib_name = str(held["lib_name"])
        self.graph = str(held["graph"]) if "graph" in held else None
        self.params = bytearray(held["params"]) if "params" in held else None

    @functools.cached_property
    def lib_path(self) -> str | None:
        """The library as a file of its own, written when it is first asked for."""
        if not self.lib_name:
            return None
        path = self._tmp_dir.relpath(os.path.basename(self.lib_name))
        with open(path, "wb") as file:
            file.write(_runtime_api.ReadPackageMember(self.package_path, self.lib_name))
        return path


class TVMCResult:
    """What a run gave: `outputs` by name as NumPy arrays, and `times`."""

    def __init__(self, outputs: dict[str, np.ndarray], times: BenchmarkResult):
        self.outputs = outputs
        self.times = times

    def format_times(self) -> str:
        """A small table of the times."""
        return str(self.times)

    def get_output(self, name: str) -> np.ndarray:
        """The output of that name: "output_0", ..."""
        return self.outputs[name]

    def save(self, output_path: str | os.PathLike) -> None:
        """Writes the outputs as an .npz file."""
        arrays: dict[str, Any] = dict(self.outputs)
        np.savez(output_path, **arrays)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"
