"""What is measured and what comes of it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "Builder",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "Runner",
    "create_measure_batch",
    "measure_option",
    "prepare",
]


class MeasureInput(NamedTuple):
    """A configuration of a task for a target."""

    target: Any
    task: Any
    config: Any


class MeasureErrorNo(enum.IntEnum):
    """What became of a configuration."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8

    def __repr__(self) -> str:
        return f"MeasureErrorNo.{self.name}"

    __str__ = __repr__


class MeasureResult(NamedTuple):
    """Seconds of its runs, or what went wrong; how long measuring took in all, and when it was."""

    costs: Any
    error_no: int
    all_cost: float
    timestamp: float

    def __repr__(self) -> str:
        error = MeasureErrorNo(self.error_no)
        return (
            f"MeasureResult(costs={self.costs!r}, error_no={error!r}, all_cost={self.all_cost}, "
            f"timestamp={self.timestamp!r})"
        )


class Builder:
    """Builds configurations."""

    def __init__(self, timeout: float = 10, n_parallel: int | None = None) -> None:
        self.timeout, self.n_parallel = timeout, n_parallel
        self.build_kwargs: dict[str, Any] = {}
        self.task: Any = None

    def set_task(self, task: Any, build_kwargs: dict[str, Any] | None = None) -> None:
        """Says what will be built."""
        self.task, self.build_kwargs = task, build_kwargs or {}

    def build(self, measure_inputs: Any) -> list[Any]:
        """What comes of each: a BuildResult, or a MeasureResult with its error."""
        raise NotImplementedError


class Runner:
    """Runs what was built."""

    def __init__(self, timeout: float = 10, n_parallel: int | None = None) -> None:
        self.timeout, self.n_parallel = timeout, n_parallel
        self.task: Any = None

    def set_task(self, task: Any) -> None:
        """Says what will be run."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """What the builder must know of the device."""
        return {}

    def run(self, measure_inputs: Any, build_results: Any) -> list[MeasureResult]:
        """What comes of each."""
        raise NotImplementedError


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """How to measure; "local" stands for LocalBuilder() and LocalRunner()."""
    from .measure_methods import LocalBuilder, LocalRunner

    def choose(given: Any, local: Any, what: str) -> Any:
        if given == "local":
            return local()
        if isinstance(given, str):
            raise ValueError(f"Invalid {what}: {given}")
        return given

    return {"builder": choose(builder, LocalBuilder, "builder"), "runner": choose(runner, LocalRunner, "runner")}


def prepare(task: Any, option: dict[str, Any]) -> tuple[Builder, Runner]:
    """The builder and the runner of an option, for candidates of a task."""
    builder, runner = option["builder"], option["runner"]
    runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())
    return builder, runner


def create_measure_batch(task: Any, option: dict[str, Any]) -> Callable[[Any], list[MeasureResult]]:
    """A function that measures a list of inputs."""
    builder, runner = prepare(task, option)

    def measure_batch(measure_inputs: Any) -> list[MeasureResult]:
        return runner.run(measure_inputs, builder.build(measure_inputs))

    measure_batch.n_parallel = builder.n_parallel  # type: ignore[attr-defined]
    return measure_batch
