"""Measuring states: built here on all cores, run in a worker process or on servers of a tracker (the core's `src/tune`)."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._ffi.registry import register_object
from ..autotvm.measure import measure_methods as _core
from ..contrib.utils import tempdir
from ..runtime.object import Object
from ..target import Target
from . import _ffi_api
from .loop_state import StateObject
from .utils import get_const_tuple

__all__ = [
    "BuildFunc",
    "BuildResult",
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "MeasureCallback",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "ProgramBuilder",
    "ProgramMeasurer",
    "ProgramRunner",
    "PythonBasedMeasureCallback",
    "RPCRunner",
    "local_build_worker",
    "local_builder_build",
    "local_run",
    "prepare_input_map",
    "prepare_runner_args",
    "recover_measure_input",
    "register_task_input_check_func",
    "rpc_runner_run",
]

#: Stands for the time of a state that could not be measured.
MAX_FLOAT = 1e10


class BuildFunc:
    """The function that builds libraries, as `export_library` takes it; None is the built-in linker."""

    name = "default"
    build_func: Any = None


class MeasureErrorNo:
    """What became of a state."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


@register_object("auto_scheduler.MeasureInput")
class MeasureInput(Object):
    """A state of a task, to be measured."""

    def __init__(self, task: Any, state: Any) -> None:
        state = state if isinstance(state, StateObject) else state.state_object
        self.__init_handle_by_constructor__(_ffi_api.MeasureInput, task, state)

    def serialize(self) -> list[Any]:
        """What another process needs: a record, and the registered workload."""
        from .measure_record import dump_record_to_string
        from .workload_registry import serialize_workload_registry_entry

        record = dump_record_to_string(self, MeasureResult([0.0], 0, "", 0, 0))
        return [record, serialize_workload_registry_entry(self.task.workload_key)]

    @staticmethod
    def deserialize(data: Any) -> MeasureInput:
        """The input that `serialize` gave, with its task and state complete."""
        from .measure_record import load_record_from_string
        from .workload_registry import deserialize_workload_registry_entry

        record, workload = data
        deserialize_workload_registry_entry(workload)
        return recover_measure_input(load_record_from_string(record)[0], rebuild_state=True)


@register_object("auto_scheduler.MeasureResult")
class MeasureResult(Object):
    """Seconds of its runs, or what went wrong; how long measuring took in all, and when it was."""

    def __init__(self, costs: Any, error_no: int, error_msg: str | None, all_cost: float, timestamp: float) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.MeasureResult,
            [float(cost) for cost in costs],
            int(error_no),
            error_msg or "",
            float(all_cost),
            float(timestamp),
        )

    def __str__(self) -> str:
        if self.error_no:
            return f"MeasureResult(error_no:{self.error_no}, error_msg:{self.error_msg}, all_cost:{self.all_cost})"
        costs = ",".join(f"{float(cost.value):g}" for cost in self.costs)
        return f"MeasureResult(cost:[{costs}], error_no:0, all_cost:{self.all_cost:g}, Tstamp:{self.timestamp:g})"

    __repr__ = __str__


class BuildResult(NamedTuple):
    """A library, the tensors of its arguments, and what went wrong."""

    filename: str
    args: Any
    error_no: int
    error_msg: str
    time_cost: float


def recover_measure_input(inp: Any, rebuild_state: bool = False) -> MeasureInput:
    """An input of a record with its task's DAG; with `rebuild_state` its state has its stages too."""
    from .search_task import _rebuilt_state, _task_of_record

    task = _task_of_record(inp.task)
    return MeasureInput(task, _rebuilt_state(task, inp.state) if rebuild_state else inp.state)


def _mean_cost(result: Any) -> float:
    return float(np.mean([float(cost.value) for cost in result.costs]))


# ---- inputs with values of their own -------------------------------------------------------------------------------

#: Functions that say which arguments of a workload need values, by name.
TASK_INPUT_CHECK_FUNC_REGISTRY: dict[str, Callable] = {}


def register_task_input_check_func(func_name: Any, f: Callable | None = None, override: bool = False) -> Any:
    """Registers a function that is given the arguments' tensors and says which of them have registered values, as a map from
    tensor to name. Its name is that of the workload's function."""
    from .utils import get_func_name

    if callable(func_name):
        f, func_name = func_name, get_func_name(func_name)
    if not isinstance(func_name, str):
        raise ValueError("expect string function name")

    def register(function: Callable) -> Callable:
        if func_name in TASK_INPUT_CHECK_FUNC_REGISTRY and not override:
            raise RuntimeError(f"{func_name} has been registered already")
        TASK_INPUT_CHECK_FUNC_REGISTRY[func_name] = function
        return function

    return register(f) if f else register


def prepare_input_map(args: Any, workload_key: str | None = None) -> dict[Any, str]:
    """Names of the registered values of arguments, by tensor."""
    import json

    out: dict[Any, str] = {}
    name = json.loads(workload_key)[0] if workload_key else None
    if name in TASK_INPUT_CHECK_FUNC_REGISTRY:
        out.update(TASK_INPUT_CHECK_FUNC_REGISTRY[name](args))
    for check in TASK_INPUT_CHECK_FUNC_REGISTRY.values():
        try:
            found = check(args)
        except Exception:
            continue
        out.update(found or {})
    return out


def prepare_runner_args(inp: Any, build_res: BuildResult) -> list[Any]:
    """For each argument its registered values, or None where random ones do."""
    from .search_task import get_task_input_buffer

    wanted = [str(name) for name in inp.task.task_input_names]
    if not wanted:
        return [None] * len(build_res.args)
    by_name = {arg.op.name: i for i, arg in enumerate(build_res.args)}
    out: list[Any] = [None] * len(build_res.args)
    named = prepare_input_map(build_res.args, inp.task.workload_key)
    for name in wanted:
        position = next((i for i, arg in enumerate(build_res.args) if named.get(arg) == name), by_name.get(name))
        if position is not None:
            out[position] = get_task_input_buffer(inp.task.workload_key, name)
    return out


# ---- building and running ------------------------------------------------------------------------------------------


class ProgramBuilder:
    """Builds states."""

    def build(self, measure_inputs: Any, verbose: int = 1) -> list[BuildResult]:
        """What comes of each."""
        raise NotImplementedError


class ProgramRunner:
    """Runs what was built."""

    def run(self, measure_inputs: Any, build_results: Any, verbose: int = 1) -> list[MeasureResult]:
        """What comes of each."""
        raise NotImplementedError


_BATCHES_BUILT = 8  # at once
_candidates = itertools.count(1)


@functools.lru_cache(maxsize=1)
def _folder() -> Any:
    """Where libraries of this process are: they outlive their builder, until they are run."""
    return tempdir()


class LocalBuilder(ProgramBuilder):
    """Builds in processes of the compiler, `n_parallel` at once. A state that takes longer than `timeout` seconds has the error
    BUILD_TIMEOUT. `build_func` is "default", "ndk" or a function of `export_library`, which is called here."""

    def __init__(
        self, timeout: int = 15, n_parallel: int = multiprocessing.cpu_count(), build_func: Any = "default"
    ) -> None:
        self.timeout, self.n_parallel = timeout, n_parallel
        self._builder = _core.LocalBuilder(timeout, n_parallel, build_func=build_func)

    def build(self, measure_inputs: Any, verbose: int = 1) -> list[BuildResult]:
        """Libraries of all inputs."""
        results: list[Any] = [None] * len(measure_inputs)
        waiting: list[tuple[int, Any, str, float]] = []
        for i, inp in enumerate(measure_inputs):
            start = time.time()
            try:
                task = inp.task
                with Target(task.target, task.target_host) if task.target_host else task.target:
                    scheduled = task.compute_dag.apply_steps_from_state(inp.state, task.layout_rewrite_option)
            except Exception as error:
                message = str(error) or "it cannot be scheduled"
                results[i] = BuildResult("", [], MeasureErrorNo.INSTANTIATION_ERROR, message, time.time() - start)
                continue
            path = _folder().relpath(f"candidate_{next(_candidates)}.so")
            waiting.append((i, scheduled, path, time.time() - start))
        if waiting:
            target = measure_inputs[0].task.target
            built = self._builder.build_schedules([each[1] for each in waiting], [each[2] for each in waiting], target)
            for (i, (_, args), path, seconds), one in zip(waiting, built):
                results[i] = BuildResult(path, args, one.error, one.message, seconds + one.seconds)
        if verbose >= 1:
            print("".join("." if not each.error_no else "E" for each in results), flush=True)
        return results


class _CoreRunner(ProgramRunner):
    """Runs libraries by one of AutoTVM's runners, which are those of the core."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def run(self, measure_inputs: Any, build_results: Any, verbose: int = 1) -> list[MeasureResult]:
        """The times of all that could be built."""
        results = [self._run_one(inp, built) for inp, built in zip(measure_inputs, build_results)]
        if verbose >= 1:
            print("".join("*" if not each.error_no else "E" for each in results), flush=True)
        return results

    def _run_one(self, inp: Any, built: BuildResult) -> MeasureResult:
        if built.error_no:
            return MeasureResult([MAX_FLOAT], built.error_no, built.error_msg, built.time_cost, time.time())
        start = time.time()
        try:
            values = prepare_runner_args(inp, built)
        except ValueError as error:
            return MeasureResult([MAX_FLOAT], MeasureErrorNo.RUNTIME_DEVICE, str(error), built.time_cost, start)
        info = tuple(
            (get_const_tuple(arg.shape), arg.dtype) if value is None else value
            for arg, value in zip(built.args, values)
        )
        code, message, costs = self._runner.measure(inp.task.target, built.filename, info)
        Path(built.filename).unlink(missing_ok=True)
        seconds = time.time() - start + built.time_cost
        if code:
            return MeasureResult([MAX_FLOAT], code, message, seconds, time.time())
        return MeasureResult(costs, MeasureErrorNo.NO_ERROR, "", seconds, time.time())


class LocalRunner(_CoreRunner):
    """Runs in a worker process of this machine, which survives what it runs: a crash or a hang is a result with an error."""

    def __init__(
        self,
        timeout: int = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        del device
        super().__init__(
            _core.LocalRunner(timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush)
        )


class RPCRunner(_CoreRunner):
    """Runs on a server that a tracker lists under `key`."""

    def __init__(
        self,
        key: str,
        host: str,
        port: int,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: int = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        del device
        super().__init__(
            _core.RPCRunner(
                key,
                host,
                port,
                priority,
                timeout,
                n_parallel,
                number,
                repeat,
                min_repeat_ms,
                cooldown_interval,
                enable_cpu_cache_flush,
            )
        )


class LocalRPCMeasureContext:
    """A runner in another process of this machine, as `runner`. v0.10 starts a tracker and a server for it; here the worker
    process of LocalRunner does the same work."""

    def __init__(
        self,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: int = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        del priority, n_parallel
        self.runner = LocalRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device
        )


def local_build_worker(args: Any) -> tuple[str, Any, int, str, float]:
    """Builds one input: (input, build_func, verbose) gives the file, its arguments, an error with its message, and the time."""
    inp, build_func, verbose = args
    built = LocalBuilder(build_func=build_func or "default").build([inp], verbose)[0]
    return tuple(built)


def local_builder_build(
    inputs: Any, timeout: int, n_parallel: int, build_func: Any = "default", verbose: int = 1
) -> list[BuildResult]:
    """Builds inputs as LocalBuilder does."""
    return LocalBuilder(timeout, n_parallel, build_func).build(inputs, verbose)


def local_run(
    inputs: Any,
    build_results: Any,
    timeout: int = 10,
    number: int = 3,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    cooldown_interval: float = 0,
    enable_cpu_cache_flush: bool = False,
    verbose: int = 1,
    device: int = 0,
) -> list[MeasureResult]:
    """Runs what was built as LocalRunner does."""
    runner = LocalRunner(timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device)
    return runner.run(inputs, build_results, verbose)


def rpc_runner_run(
    inputs: Any,
    build_results: Any,
    key: str,
    host: str,
    port: int,
    priority: int = 1,
    n_parallel: int = 1,
    timeout: int = 10,
    number: int = 3,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    cooldown_interval: float = 0.0,
    enable_cpu_cache_flush: bool = False,
    verbose: int = 1,
    device: int = 0,
) -> list[MeasureResult]:
    """Runs what was built as RPCRunner does."""
    runner = RPCRunner(
        key,
        host,
        port,
        priority,
        n_parallel,
        timeout,
        number,
        repeat,
        min_repeat_ms,
        cooldown_interval,
        enable_cpu_cache_flush,
        device,
    )
    return runner.run(inputs, build_results, verbose)


# ---- callbacks and the measurer ------------------------------------------------------------------------------------


class MeasureCallback:
    """Told of everything that is measured."""

    def callback(self, policy: Any, inputs: Any, results: Any) -> None:
        """Called after each batch."""
        raise NotImplementedError


class PythonBasedMeasureCallback(MeasureCallback):
    """A callback of a user's own: override `callback`."""


class ProgramMeasurer:
    """Measures states with a builder and a runner, tells callbacks, and knows the best of each workload."""

    DEFAULT_MAX_CONTINUOUS_ERROR = 150

    def __init__(
        self,
        builder: ProgramBuilder,
        runner: ProgramRunner,
        callbacks: Any,
        verbose: int,
        max_continuous_error: int | None = None,
    ) -> None:
        self.builder, self.runner = builder, runner
        self.callbacks, self.verbose = list(callbacks or []), verbose
        given = max_continuous_error is not None and max_continuous_error >= 0
        self.max_continuous_error = max_continuous_error if given else self.DEFAULT_MAX_CONTINUOUS_ERROR
        self.reset()

    def reset(self) -> None:
        """Forgets all that was measured."""
        self.ct, self.error_ct = 0, 0
        self.best_flops: dict[str, float] = {}
        self.best_ct: dict[str, int] = {}
        self.best_state: dict[str, Any] = {}
        self.has_valid: set[str] = set()

    def measure(self, task: Any, policy: Any, inputs: Any, batch_size: int = -1) -> list[MeasureResult]:
        """The results of all inputs, a few at a time so that an interrupt loses little. More are built at once: while the last of them,
        which may take a hundred times as long as others, is built, only one core has work."""
        if batch_size < 0:
            batch_size = getattr(self.builder, "n_parallel", 1) * 2
        results: list[MeasureResult] = []
        key = str(task.workload_key)
        built: list[Any] = []
        for first in range(0, len(inputs), batch_size):
            batch = list(inputs[first : first + batch_size])
            if not built:
                built = list(self.builder.build(inputs[first : first + _BATCHES_BUILT * batch_size], self.verbose))
            measured = self.runner.run(batch, built[: len(batch)], self.verbose)
            built = built[len(batch) :]
            for inp, result in zip(batch, measured):
                self._note(task, key, inp, result)
            for callback in self.callbacks:
                callback.callback(policy, batch, measured)
            results.extend(measured)
            if self.error_ct > self.max_continuous_error:  # type: ignore[operator]
                last = next((str(each.error_msg) for each in reversed(measured) if each.error_no), "")
                raise RuntimeError(f"Too many errors happened during tuning; the last one: {last}")
        return results

    def _note(self, task: Any, key: str, inp: Any, result: Any) -> None:
        flops = 0.0
        if result.error_no == 0:
            seconds = _mean_cost(result)
            flops = float(task.compute_dag.flop_ct) / seconds if seconds > 0 else 0.0
            self.error_ct = 0
            self.has_valid.add(key)
        else:
            self.error_ct += 1
        self.ct += 1
        if result.error_no == 0 and (key not in self.best_state or flops > self.best_flops[key]):
            self.best_flops[key], self.best_ct[key], self.best_state[key] = flops, self.ct, inp.state
        if self.verbose >= 2:
            state = "error: " + str(result.error_msg) if result.error_no else f"{flops / 1e9:.2f} GFLOPS"
            best = self.best_flops.get(key, 0.0) / 1e9
            print(f"No: {self.ct}\t{state}\tBest GFLOPS: {best:.2f}\tResults: {result}", flush=True)
