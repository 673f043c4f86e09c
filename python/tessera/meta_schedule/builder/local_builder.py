"""Building on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from ..._ffi.registry import get_global_func
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
    """Builds in this process, on all cores (`max_workers` of them). Builds have no time limit.

    `f_build(mod, target, params)` and `f_export(module)`, functions or names of such, build one candidate after another.
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
            compile_all = get_global_func("tune.BuildPrograms")
            problems = compile_all(mods, paths, build_inputs[group[0]].target, self.max_workers)
            for i, path, problem in zip(group, paths, problems):
                failed = str(problem)
                if failed:
                    os.rmdir(os.path.dirname(path)) if not os.path.exists(path) else None
                results[i] = BuilderResult(None, f"LocalBuilder: {failed}") if failed else BuilderResult(path, None)
        return [each for each in results if each is not None]

    def _build_one(self, build_input: BuilderInput) -> BuilderResult:
        try:
            do_build = get_global_func_with_default_on_worker(self.f_build, default_build)
            do_export = get_global_func_with_default_on_worker(self.f_export, default_export)
            module = do_build(build_input.mod, build_input.target, build_input.params)
            return BuilderResult(str(do_export(module)), None)
        except Exception as error:
            return BuilderResult(None, f"LocalBuilder: An exception occurred\n{error}")
