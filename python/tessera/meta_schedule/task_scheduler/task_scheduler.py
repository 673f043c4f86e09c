"""Whose turn it is: which task is searched on next."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..builder import BuilderInput
from ..profiler import Profiler
from ..runner import RunnerInput, RunnerResult
from ..runner.local_runner import LocalRunnerFuture

if TYPE_CHECKING:
    from ..builder import Builder
    from ..cost_model import CostModel
    from ..database import Database
    from ..measure_callback import MeasureCallback
    from ..runner import Runner
    from ..tune_context import TuneContext

__all__ = ["GradientBased", "PyTaskScheduler", "RoundRobin", "TaskScheduler", "create"]

logger = logging.getLogger(__name__)


class TaskScheduler:
    """Searches on several tasks, one round after another."""

    tasks: list[TuneContext]
    builder: Builder
    runner: Runner
    database: Database | None
    cost_model: CostModel | None
    measure_callbacks: list[MeasureCallback]
    max_trials: int
    num_trials_already: int
    best_seconds: list[float]
    latency_history: list[list[float]]
    is_terminated: list[bool]
    _running: dict[int, Any]

    def __init__(
        self,
        tasks: list[TuneContext],
        builder: Builder,
        runner: Runner,
        *,
        database: Database | None = None,
        cost_model: CostModel | None = None,
        measure_callbacks: list[MeasureCallback] | None = None,
        max_trials: int,
    ) -> None:
        self.__dict__.update(
            tasks=list(tasks),
            builder=builder,
            runner=runner,
            database=database,
            cost_model=cost_model,
            measure_callbacks=list(measure_callbacks or []),
            max_trials=max_trials,
            num_trials_already=0,
            best_seconds=[math.inf] * len(tasks),
            latency_history=[[] for _ in tasks],
            is_terminated=[False] * len(tasks),
            _running={},
        )

    def next_task_id(self) -> int:
        """The task to search on next; -1 at the end."""
        raise NotImplementedError

    def initialize_task(self, task_id: int) -> None:
        """Makes the design space of a task."""
        task = self.tasks[task_id]
        with Profiler.timeit("InitializeTask"):
            task.pre_tuning(None, self.database, self.cost_model)

    def touch_task(self, task_id: int) -> None:
        """Looks whether results of a task are there, and takes them."""
        running = self._running.get(task_id)
        if running is not None and all(future.done() for future in running[2]):
            self.join_running_task(task_id)

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Waits for the results of a task, and passes them on."""
        candidates, built, futures = self._running.pop(task_id)
        with Profiler.timeit("JoinRunnerFutures"):
            results = [future.result() for future in futures]
        task = self.tasks[task_id]
        task.notify_runner_results(candidates, results)
        self.num_trials_already += len(results)
        for result in results:
            seconds = [float(each) for each in result.run_secs or []]
            if seconds:
                self.best_seconds[task_id] = min(self.best_seconds[task_id], float(np.mean(seconds)))
        self.latency_history[task_id].append(self.best_seconds[task_id])
        for callback in self.measure_callbacks:
            with Profiler.timeit("MeasureCallback/" + type(callback).__name__):
                callback.apply(self, task_id, candidates, built, results)
        return results

    def _start_round(self, task_id: int) -> None:
        task = self.tasks[task_id]
        with Profiler.timeit("GenerateMeasureCandidates"):
            candidates = task.generate_measure_candidates()
        if not candidates:
            self._terminate(task_id)
            return
        with Profiler.timeit("SendToBuilder"):
            built = self.builder.build([BuilderInput(each.sch.mod, task.target) for each in candidates])
        inputs = [
            RunnerInput(str(result.artifact_path), task.target.kind.name, list(candidate.args_info))
            for candidate, result in zip(candidates, built)
            if not result.error_msg
        ]
        with Profiler.timeit("SendToRunner"):
            futures = iter(self.runner.run(inputs) if inputs else [])
        self._running[task_id] = (
            candidates,
            built,
            [LocalRunnerFuture(None, str(each.error_msg)) if each.error_msg else next(futures) for each in built],
        )

    def _terminate(self, task_id: int) -> None:
        if not self.is_terminated[task_id]:
            self.is_terminated[task_id] = True
            self.tasks[task_id].post_tuning()

    def tune(self) -> None:
        """Searches until all tasks are at their end, or `max_trials` candidates were measured."""
        for task_id in range(len(self.tasks)):
            self.initialize_task(task_id)
        while self.num_trials_already < self.max_trials:
            task_id = int(self.next_task_id())
            if task_id == -1:
                break
            if task_id in self._running:
                self.join_running_task(task_id)
            if not self.is_terminated[task_id] and self.num_trials_already < self.max_trials:
                self._start_round(task_id)
        for task_id in list(self._running):
            self.join_running_task(task_id)
        for task_id in range(len(self.tasks)):
            self._terminate(task_id)


class RoundRobin(TaskScheduler):
    """Each task in its turn."""

    def __init__(
        self,
        tasks: list[TuneContext],
        task_weights: list[float] | None = None,
        builder: Any = None,
        runner: Any = None,
        *,
        database: Database | None = None,
        cost_model: CostModel | None = None,
        measure_callbacks: list[MeasureCallback] | None = None,
        max_trials: int,
    ) -> None:
        del task_weights
        super().__init__(
            tasks,
            builder,
            runner,
            database=database,
            cost_model=cost_model,
            measure_callbacks=measure_callbacks,
            max_trials=max_trials,
        )
        self.task_id = -1

    def next_task_id(self) -> int:
        """The next one that is not at its end."""
        count = len(self.tasks)
        for _ in range(count):
            self.task_id = (self.task_id + 1) % count
            self.touch_task(self.task_id)
            if not self.is_terminated[self.task_id]:
                return self.task_id
        return -1


class GradientBased(TaskScheduler):
    """The task from which most is expected: its share of the whole, by how fast it was getting better."""

    def __init__(
        self,
        tasks: list[TuneContext],
        task_weights: list[float],
        builder: Any = None,
        runner: Any = None,
        *,
        database: Database | None = None,
        cost_model: CostModel | None = None,
        measure_callbacks: list[MeasureCallback] | None = None,
        max_trials: int,
        alpha: float = 0.2,
        window_size: int = 3,
        seed: int = -1,
    ) -> None:
        super().__init__(
            tasks,
            builder,
            runner,
            database=database,
            cost_model=cost_model,
            measure_callbacks=measure_callbacks,
            max_trials=max_trials,
        )
        self.task_weights = [float(each) for each in task_weights]
        self.alpha, self.window_size = alpha, window_size
        self.random = np.random.RandomState(None if seed == -1 else seed)
        self.round = 0

    def _gradient(self, task_id: int) -> float:
        history = self.latency_history[task_id]
        best, count = history[-1], len(history)
        if not math.isfinite(best):
            return 0.0
        window = self.window_size
        before = history[count - 1 - window] if count > window else best
        recent = (before - best) / window if math.isfinite(before) else 0.0
        return self.task_weights[task_id] * (self.alpha * recent + (1 - self.alpha) * best / count)

    def next_task_id(self) -> int:
        """Every task once, then the one of the largest gradient."""
        alive = [i for i in range(len(self.tasks)) if not self.is_terminated[i]]
        while self.round < len(self.tasks):
            self.round += 1
            if not self.is_terminated[self.round - 1]:
                return self.round - 1
        for task_id in alive:
            if task_id in self._running:
                self.join_running_task(task_id)
        if not alive:
            return -1
        gradients = [self._gradient(i) for i in alive]
        if max(gradients) <= 0:
            return int(alive[self.random.randint(len(alive))])
        return alive[int(np.argmax(gradients))]


class _PyTaskScheduler(TaskScheduler):
    def __init__(
        self,
        tasks: list[TuneContext],
        builder: Any,
        runner: Any,
        database: Any,
        cost_model: Any,
        measure_callbacks: Any,
        max_trials: int,
        f_tune: Callable | None = None,
        f_initialize_task: Callable | None = None,
        f_touch_task: Callable | None = None,
        f_join_running_task: Callable | None = None,
        f_next_task_id: Callable | None = None,
    ) -> None:
        super().__init__(
            tasks,
            builder,
            runner,
            database=database,
            cost_model=cost_model,
            measure_callbacks=measure_callbacks,
            max_trials=max_trials,
        )
        given = {
            "tune": f_tune,
            "initialize_task": f_initialize_task,
            "touch_task": f_touch_task,
            "join_running_task": f_join_running_task,
            "next_task_id": f_next_task_id,
        }
        self.__dict__.update({name: function for name, function in given.items() if function is not None})


class PyTaskScheduler:
    """A scheduler in Python: override its methods, `next_task_id` at least, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyTaskScheduler,
        "fields": ["tasks", "builder", "runner", "database", "cost_model", "measure_callbacks", "max_trials"],
        "methods": ["tune", "initialize_task", "touch_task", "join_running_task", "next_task_id"],
    }
    _outer: Any

    def __init__(
        self,
        tasks: list[TuneContext],
        builder: Any,
        runner: Any,
        *,
        database: Any = None,
        cost_model: Any = None,
        measure_callbacks: Any = None,
        max_trials: int,
    ) -> None:
        self.tasks, self.builder, self.runner = tasks, builder, runner
        self.database, self.cost_model = database, cost_model
        self.measure_callbacks, self.max_trials = measure_callbacks or [], max_trials

    def tune(self) -> None:
        """Searches until all tasks are at their end."""
        TaskScheduler.tune(self._outer())

    def next_task_id(self) -> int:
        """The task to search on next; -1 at the end."""
        raise NotImplementedError

    def initialize_task(self, task_id: int) -> None:
        """Makes the design space of a task."""
        TaskScheduler.initialize_task(self._outer(), task_id)

    def touch_task(self, task_id: int) -> None:
        """Looks whether results of a task are there, and takes them."""
        TaskScheduler.touch_task(self._outer(), task_id)

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Waits for the results of a task, and passes them on."""
        return TaskScheduler.join_running_task(self._outer(), task_id)


def create(kind: str = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
    """A scheduler of a kind: "gradient" or "round-robin"."""
    kinds: dict[str, Any] = {"gradient": GradientBased, "round-robin": RoundRobin, "round_robin": RoundRobin}
    if kind not in kinds:
        raise ValueError(f"Unknown TaskScheduler name: {kind}; there are {', '.join(kinds)}")
    return kinds[kind](*args, **kwargs)
