"""Templates and tasks: a template with arguments, a target, and the space of its configurations."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

from ... import te, tir
from ...runtime import Object, String
from ...target import Target
from .dispatcher import ApplyConfig, DispatchContext
from .space import ConfigSpace, InstantiationError

__all__ = [
    "TASK_TABLE",
    "FlopCalculationError",
    "Task",
    "TaskTemplate",
    "args_to_workload",
    "compute_flop",
    "create",
    "deserialize_args",
    "get_config",
    "serialize_args",
    "template",
]


class FlopCalculationError(RuntimeError):
    """How much arithmetic a program does cannot be told."""


def serialize_args(args: Any) -> tuple[Any, ...]:
    """Arguments as plain values: a tensor is ("TENSOR", shape, dtype)."""

    def plain(x: Any) -> Any:
        if isinstance(x, te.Tensor):
            return ("TENSOR", tuple(int(extent) for extent in x.shape), x.dtype)
        if isinstance(x, (tuple, list)) or type(x).__name__ in ("Array", "ShapeTuple"):
            return tuple(plain(each) for each in x)
        if isinstance(x, (str, int, float)) or x is None:
            return str(x) if isinstance(x, String) else x
        if isinstance(x, (tir.expr.IntImm, tir.expr.FloatImm)):
            return x.value
        if isinstance(x, tir.expr.StringImm):
            return x.value
        if isinstance(x, (tir.Var, Object)) and hasattr(x, "name"):
            return x.name
        raise RuntimeError(
            f'Do not support type "{type(x)}" in argument. Consider to useprimitive types or tvm.tir.Var only'
        )

    return tuple(plain(x) for x in args)


def deserialize_args(args: Any) -> list[Any]:
    """What `serialize_args` gave, with placeholders where tensors were."""
    is_tensor = lambda x: isinstance(x, tuple) and len(x) == 3 and x[0] == "TENSOR"  # noqa: E731
    return [te.placeholder(shape=x[1], dtype=x[2]) if is_tensor(x) else x for x in args]


def args_to_workload(args: Any, task_name: str | None = None) -> tuple[Any, ...]:
    """The key of a task: its name and its arguments."""
    return (task_name, *serialize_args(args)) if task_name is not None else serialize_args(args)


class TaskTemplate:
    """A function that gives a schedule and its arguments; or a compute and a schedule that were registered apart."""

    def __init__(self) -> None:
        self.fcompute: Callable | None = None
        self.fschedule: Callable | None = None
        self.fcustomized: Callable | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple(deserialize_args(args))
        if self.fcustomized is not None:
            return self.fcustomized(*args, **kwargs)
        if self.fcompute is None or self.fschedule is None:
            raise RuntimeError("a task needs both a compute and a schedule")
        out = self.fcompute(*args, **kwargs)
        outs = [out] if isinstance(out, te.Tensor) else list(out)
        return self.fschedule(outs), [x for x in args if isinstance(x, te.Tensor)] + outs


TASK_TABLE: dict[str, TaskTemplate] = {}


def template(task_name: str, func: Callable | None = None) -> Any:
    """Decorator of a template, which gives a schedule and its arguments; `get_config()` has its knobs."""

    def decorate(function: Callable) -> Callable:
        known = TASK_TABLE.setdefault(task_name, TaskTemplate())
        if known.fcustomized is not None:
            raise ValueError(f"Customized func is already registered in autoTVM task {task_name}")
        known.fcustomized = function

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise ValueError("Do not support kwargs in template function call")
            config = DispatchContext.current.query(Target.current(), args_to_workload(args, task_name))
            with ApplyConfig(config):
                return function(*args, **kwargs)

        return wrapper

    return decorate(func) if func is not None else decorate


def get_config() -> Any:
    """The configuration of the template that is running."""
    return DispatchContext.current.query(None, None)


class Task:
    """A template with arguments."""

    def __init__(self, name: str, args: Any) -> None:
        self.name = name
        self.args = args
        self.kwargs: dict[str, Any] = {}
        self.config_space: Any = None
        self.func = find_template(name) or functools.partial(_missing_task, name)
        self._workload: Any = None
        self.flop: Any = None
        self.target: Any = None
        self._model: Any = None  # (mod, params) that it was extracted from
        self.target_host: Any = None

    @property
    def workload(self) -> Any:
        """The key of the task."""
        return self._workload if self._workload is not None else args_to_workload(self.args, self.name)

    @workload.setter
    def workload(self, value: Any) -> None:
        self._workload = value

    def instantiate(self, config: Any) -> tuple[Any, Any]:
        """The schedule and the arguments of a configuration."""
        config.flop = 0
        config.errors = []
        with ApplyConfig(config):
            schedule, buffers = self.func(*self.args, **self.kwargs)
        if not config.valid():
            raise InstantiationError(config.errors)
        if not self.flop:
            self.flop = config.flop or compute_flop(schedule)
        return schedule, buffers

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def find_template(name: str) -> Any:
    """The template of that name, those of operators of models among them; None where there is none."""
    if name not in TASK_TABLE:
        importlib.import_module("tessera.autotvm.templates")
    return TASK_TABLE.get(name)


def _missing_task(name: str, *_: Any, **__: Any) -> Any:
    raise RuntimeError(
        f"Attempting to invoke a missing task {name}."
        "It is possible that the function is registered in a Python module that is not imported in this run, or the log "
        "is out-of-date."
    )


def create(task_name: str, args: Any, target: Any, target_host: Any = None) -> Task:
    """A task: the template runs once and says its knobs."""
    args = serialize_args(args)
    target = target if isinstance(target, Target) else Target(target)
    task = Task(task_name, args)
    task.config_space = ConfigSpace()
    task.target, task.target_host = target, target_host
    with ApplyConfig(task.config_space), target:
        schedule, _ = task.func(*args)
    task.config_space.code_hash = getattr(schedule, "code_hash", None)
    task.workload = args_to_workload(args, task_name)
    task.flop = task.config_space.flop or compute_flop(schedule)
    return task


_COUNTED = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Max", "Min")
_COMPARED = ("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or")  # v0.10 counts them too


def _operations(expr: Any) -> int:
    """Arithmetic of one element."""
    kind = type(expr).__name__
    if kind == "Reduce":
        combiner = expr.combiner.result
        if len(combiner) != 1:
            raise FlopCalculationError("Found multiple output in the combiner of reduce op")
        extent = math.prod(int(axis.dom.extent) for axis in expr.axis)
        if len(expr.source) != 1:
            raise FlopCalculationError("Found multiple output in the source of reduce op")
        return extent * (_operations(combiner[0]) + _operations(expr.source[0]))
    if kind in _COUNTED or kind in _COMPARED:
        return 1 + _operations(expr.a) + _operations(expr.b)
    if kind == "Not":
        return 1 + _operations(expr.a)
    if kind in ("Select", "if_then_else"):
        parts = expr.condition, expr.true_value, expr.false_value
        return _operations(parts[0]) + max(_operations(parts[1]), _operations(parts[2]))
    if kind == "Call":
        return sum(_operations(each) for each in expr.args)
    if kind == "Cast":
        return _operations(expr.value)
    return 0


def compute_flop(sch: Any) -> int:
    """How many operations the computes of a schedule do; loads and their indices are free."""
    total = 0
    for op in (stage.op for stage in sch.stages):
        if isinstance(op, te.ComputeOp):
            elements = math.prod(int(axis.dom.extent) for axis in op.axis)
            total += elements * sum(_operations(body) for body in op.body)
        elif not isinstance(op, te.PlaceholderOp):
            raise FlopCalculationError(f"{op} is no compute; the template says how much it does with cfg.add_flop")
    if total == 0:
        raise FlopCalculationError("Cannot find float number operation in this operator. Use `cfg.add_flop`")
    return total
