"""Building on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from ...autotvm.measure.build import Form, TookTooLong, build_candidates, call_within
from ...contrib.tar import tar
from ...driver import build
from ...ir import IRModule
from ...runtime import Module
from ...target import Target
from ..utils import CANDIDATE_FOLDER, cpu_count, get_global_func_with_default_on_worker
from .builder import Builder, BuilderInput, BuilderResult

__all__ = ["LocalBuilder", "default_build", "default_export"]


def default_build(mod: IRModule, target: Target, _params: dict[str, Any] | None) -> Module:
    """The library of a module."""
    return build(mod, target=target)


def default_export(mod: Module) -> str:
    """Writes a library into a file of its own; gives its path."""
    path = os.path.join(tempfile.mkdtemp(prefix=CANDIDATE_FOLDER), "tvm_tmp_mod.tar")
    mod.export_library(path, tar)
    return path


class LocalBuilder(Builder):
    """Builds in processes of the compiler, `max_workers` at once (None: as many as there are cores). A candidate that takes longer
    than `timeout_sec` has an error.

    `f_build(mod, target, params)` and `f_export(module)`, functions or names of such, build one candidate after another in this
    process.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: None | str | Callable = None,
        f_export: None | str | Callable = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.max_workers = max_workers or cpu_count()
        self.timeout_sec = timeout_sec
        self.f_build, self.f_export = f_build, f_export
        if initializer is not None:
            initializer()
        for each, default in ((f_build, default_build), (f_export, default_export)):
            get_global_func_with_default_on_worker(each, default)

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """The libraries of all candidates."""
        if self.f_build is not None or self.f_export is not None:
            return [self._build_one(each) for each in build_inputs]
        results: list[BuilderResult | None] = [None] * len(build_inputs)
        by_target: dict[str, list[int]] = {}
        for i, each in enumerate(build_inputs):
            by_target.setdefault(str(each.target), []).append(i)
        for group in by_target.values():
            folders = [tempfile.mkdtemp(prefix=CANDIDATE_FOLDER) for _ in group]
            paths = [os.path.join(folder, "candidate.so") for folder in folders]
            mods = [build_inputs[i].mod for i in group]
            target = build_inputs[group[0]].target
            built = build_candidates(Form.PROGRAM, mods, paths, target, self.max_workers, self.timeout_sec)
            for i, path, one in zip(group, paths, built):
                if one.error:
                    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
                results[i] = BuilderResult(None, f"LocalBuilder: {one.message}") if one.error else BuilderResult(path, None)
        return [each for each in results if each is not None]

    def _build_one(self, build_input: BuilderInput) -> BuilderResult:
        try:
            return BuilderResult(str(call_within(self.timeout_sec, self._export, build_input)), None)
        except TookTooLong:
            return BuilderResult(None, f"LocalBuilder: Timeout, killed after {self.timeout_sec} seconds")
        except Exception as error:
            return BuilderResult(None, f"LocalBuilder: An exception occurred\n{error}")

    def _export(self, build_input: BuilderInput) -> Any:
        do_build = get_global_func_with_default_on_worker(self.f_build, default_build)
        do_export = get_global_func_with_default_on_worker(self.f_export, default_export)
        return do_export(do_build(build_input.mod, build_input.target, build_input.params))
