"""Pieces of a search that do nothing, quickly."""

from __future__ import annotations

import random
from typing import Any

from ..builder import BuilderInput, BuilderResult, PyBuilder
from ..mutator import PyMutator
from ..runner import PyRunner, PyRunnerFuture, RunnerFuture, RunnerInput, RunnerResult
from ..tune_context import TuneContext
from ..utils import derived_object

__all__ = ["DummyBuilder", "DummyMutator", "DummyRunner", "DummyRunnerFuture"]


@derived_object
class DummyRunnerFuture(PyRunnerFuture):
    """A result that is there at once: some random times."""

    def done(self) -> bool:
        """Always."""
        return True

    def result(self) -> RunnerResult:
        """A time."""
        return RunnerResult([random.uniform(5, 30)], None)


@derived_object
class DummyBuilder(PyBuilder):
    """Builds nothing."""

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """A path to nothing for each."""
        return [BuilderResult("test_path", None) for _ in build_inputs]


@derived_object
class DummyRunner(PyRunner):
    """Runs nothing."""

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Random times for each."""
        futures: list[Any] = [DummyRunnerFuture() for _ in runner_inputs]
        return futures


@derived_object
class DummyMutator(PyMutator):
    """Changes no decision."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, trace: Any, _: int) -> Any:
        """The same instructions and decisions again."""
        from ...tir.schedule import Trace

        return Trace(trace.insts, {})

    def clone(self) -> Any:
        """Another one that changes nothing."""
        return DummyMutator()
