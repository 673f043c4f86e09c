"""What is done with results."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..database import TuningRecord
from ..utils import remove_build_dir

if TYPE_CHECKING:
    from ..builder import BuilderResult
    from ..runner import RunnerResult
    from ..search_strategy import MeasureCandidate
    from ..task_scheduler import TaskScheduler

__all__ = [
    "AddToDatabase",
    "EchoStatistics",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
]

logger = logging.getLogger(__name__)


class MeasureCallback:
    """Is told what came of candidates."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Results of one round of a task."""
        raise NotImplementedError


class _PyMeasureCallback(MeasureCallback):
    _f_apply: Callable | None

    def __init__(self, f_apply: Callable | None = None, f_as_string: Callable | None = None) -> None:
        del f_as_string
        self.__dict__["_f_apply"] = f_apply

    def apply(self, *args: Any) -> None:
        if self._f_apply is None:
            raise NotImplementedError("PyMeasureCallback's apply method is not implemented")
        self._f_apply(*args)


class PyMeasureCallback:
    """A callback in Python: override `apply`, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {"cls": _PyMeasureCallback, "methods": ["apply", "__str__"]}

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Results of one round of a task."""
        raise NotImplementedError


class AddToDatabase(MeasureCallback):
    """Writes results into the database of the scheduler; a failed run takes 1e9 s."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Adds a record for each candidate."""
        database = task_scheduler.database
        if database is None:
            return
        task = task_scheduler.tasks[task_id]
        workload = database.commit_workload(task.mod)
        for candidate, result in zip(measure_candidates, runner_results):
            seconds = [float(each) for each in result.run_secs] if result.run_secs else [1e9]
            record = TuningRecord(candidate.sch.trace, workload, seconds, task.target, list(candidate.args_info))
            database.commit_tuning_record(record)


class RemoveBuildArtifact(MeasureCallback):
    """Removes libraries that were measured."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Removes the folders of the libraries."""
        for result in builder_results:
            if result.artifact_path and Path(str(result.artifact_path)).exists():
                remove_build_dir(str(result.artifact_path))


class EchoStatistics(MeasureCallback):
    """Logs how the round went."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Logs the best time, and errors."""
        name = task_scheduler.tasks[task_id].task_name
        for built, run in zip(builder_results, runner_results):
            problem = built.error_msg or run.error_msg
            if problem:
                logger.debug("[Task #%d: %s] %s", task_id, name, problem)
        best = task_scheduler.best_seconds[task_id]
        failed = sum(1 for each in runner_results if each.error_msg)
        logger.info(
            "[Task #%d: %s] %d measured, %d of them failed, best so far %.4g us",
            task_id, name, len(runner_results), failed, best * 1e6,
        )  # fmt: skip


class UpdateCostModel(MeasureCallback):
    """Lets the cost model of the scheduler learn."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Passes on what could be built."""
        if task_scheduler.cost_model is None:
            return
        pairs = [
            (candidate, run)
            for candidate, built, run in zip(measure_candidates, builder_results, runner_results)
            if not built.error_msg
        ]
        if pairs:
            candidates, results = zip(*pairs)
            task_scheduler.cost_model.update(task_scheduler.tasks[task_id], list(candidates), list(results))
