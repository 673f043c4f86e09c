"""Computes and schedules that are registered apart, for operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from ... import te
from ..._ffi.registry import get_global_func
from ...target import Target
from .dispatcher import DispatchContext
from .task import TASK_TABLE, TaskTemplate, args_to_workload, serialize_args

__all__ = ["TaskExtractEnv", "get_workload", "register_topi_compute", "register_topi_schedule"]

__all__ = ["register_topi_compute", "register_topi_schedule"]


class TaskExtractEnv:
    """Collects the tasks of templates that are called inside `with env:`, or that are added."""

    current: ClassVar[Any] = None

    def __init__(self, allow_duplicate: bool = False) -> None:
        self.allow_duplicate = allow_duplicate
        self.task_collection: list[tuple[str, Any]] = []
        self.wanted_relay_ops: Any = None
        self.tracing = False

    def __enter__(self) -> TaskExtractEnv:
        self.task_collection = []
        self.tracing = True
        return self

    def __exit__(self, *_: Any) -> None:
        self.tracing = False

    def reset(self, wanted_relay_ops: Any = None) -> None:
        """Forgets all tasks."""
        self.task_collection = []
        self.wanted_relay_ops = wanted_relay_ops

    def add_task(self, task_name: str, args: Any) -> None:
        """A task; one that is there already is left out unless duplicates are allowed."""
        key = (task_name, serialize_args(args))
        if self.allow_duplicate or key not in self.task_collection:
            self.task_collection.append(key)

    def get_tasks(self) -> list[tuple[str, Any]]:
        """Names and arguments."""
        return self.task_collection

    @staticmethod
    def get(allow_duplicate: bool = False) -> TaskExtractEnv:
        """The one of this process."""
        if TaskExtractEnv.current is None:
            TaskExtractEnv.current = TaskExtractEnv(allow_duplicate)
        TaskExtractEnv.current.allow_duplicate = allow_duplicate
        return TaskExtractEnv.current


def _workload_of(task_name: str, args: Any) -> Any:
    try:
        workload = args_to_workload(args, task_name)
        hash(workload)
    except (RuntimeError, TypeError, ValueError):  # arguments that no record can hold
        return None
    return workload


def _config_of(workload: Any) -> Any:
    target = Target.current()
    return DispatchContext.current.query(target, workload if target is not None else None)


def _noted(out: Any, workload: Any) -> Any:
    """The results, whose operation says what workload it is: their schedule takes the same configuration."""
    first = out if isinstance(out, te.Tensor) else out[0]
    op = first.op
    if workload is None or not isinstance(op, te.ComputeOp):
        return out
    attrs = {**dict(op.attrs.items()), "workload": workload}
    own = get_global_func("te.ComputeOp")(op.name, op.tag, attrs, op.axis, op.body)
    if isinstance(out, te.Tensor):
        return own.output(out.value_index)
    return [own.output(each.value_index) if each.op.same_as(op) else each for each in out]


def get_workload(outs: Any, task_name: str | None = None) -> Any:
    """The workload that results were computed for by a template of that name; None where there is none."""
    waiting = [out.op for out in ([outs] if isinstance(outs, te.Tensor) else outs)]
    seen: list[Any] = []
    while waiting:
        op = waiting.pop()
        if any(op.same_as(each) for each in seen) or not isinstance(op, te.ComputeOp):
            continue
        seen.append(op)
        noted = op.attrs.get("workload") if op.attrs else None
        if noted is not None:
            workload = args_to_workload(noted)
            if task_name is None or workload[0] == task_name:
                return workload
        waiting += [tensor.op for tensor in op.input_tensors]
    return None


def register_topi_compute(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a compute `f(cfg, ...)`, which callers call without the configuration."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            env = TaskExtractEnv.current
            if env is not None and env.tracing:
                env.add_task(task_name, args)
            workload = _workload_of(task_name, args)
            return _noted(function(_config_of(workload), *args, **kwargs), workload)

        TASK_TABLE.setdefault(task_name, TaskTemplate()).fcompute = wrapper
        return wrapper

    return decorate(func) if func is not None else decorate


def register_topi_schedule(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a schedule `f(cfg, outs)`, which callers call without the configuration."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(outs: Any, *args: Any, **kwargs: Any) -> Any:
            workload = get_workload(outs, task_name)
            return function(_config_of(workload or _workload_of(task_name, ())), outs, *args, **kwargs)

        TASK_TABLE.setdefault(task_name, TaskTemplate()).fschedule = wrapper
        return wrapper

    return decorate(func) if func is not None else decorate
