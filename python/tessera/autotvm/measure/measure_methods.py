"""Builders and runners on the core's measurement (`src/tune`)."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ... import rpc, te
from ..._ffi.registry import get_global_func
from ...contrib import ndk
from ...contrib.utils import tempdir
from ...driver import build as build_module
from ...driver import lower
from ...runtime import ShapeTuple
from ..task.space import InstantiationError
from .build import Built, Form, TookTooLong, build_candidates, call_within, why_no_gpu_runs
from .measure import Builder, MeasureErrorNo, MeasureResult, Runner

__all__ = ["BuildResult", "LocalBuilder", "LocalRunner", "RPCRunner", "request_remote"]

_FUNCTION = "default_function"


class BuildResult(NamedTuple):
    """A library and the arguments of its function."""

    filename: str
    arg_info: Any
    error: Any
    time_cost: float


def _failure(kind: MeasureErrorNo, error: Any, seconds: float = 0.0) -> MeasureResult:
    return MeasureResult((error if isinstance(error, Exception) else RuntimeError(error),), kind, seconds, time.time())


class LocalBuilder(Builder):
    """Builds in processes of the compiler, `n_parallel` at once (None: as many as there are cores). A configuration whose template, lowering
    or code takes longer than `timeout` seconds has the error BUILD_TIMEOUT; one that ends its process has COMPILE_HOST.

    `build_func` is "default" (the built-in linker), "ndk", or a function as `export_library` takes it, which is called here.
    """

    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: dict[str, Any] | None = None,
        build_func: Any = "default",
        do_fork: bool = False,
        runtime: Any = None,
    ) -> None:
        super().__init__(timeout, n_parallel)
        del do_fork, runtime
        if isinstance(build_func, str) and build_func not in ("default", "ndk"):
            raise ValueError(f"Invalid build_func {build_func}")
        self.build_func: Callable | None = {"default": None, "ndk": ndk.create_shared}.get(build_func, build_func)
        self.user_build_kwargs = build_kwargs or {}
        self._folder = tempdir()
        self._count = 0

    def build(self, measure_inputs: Any) -> list[Any]:
        """Libraries of all inputs."""
        self._build_references(measure_inputs)
        results: list[Any] = [None] * len(measure_inputs)
        waiting: list[tuple[int, Any, str, Any, float]] = []
        for i, inp in enumerate(measure_inputs):
            start = time.time()
            try:
                with inp.target:
                    schedule, args = call_within(self.timeout, inp.task.instantiate, inp.config)
                if why := why_no_gpu_runs(schedule, args, inp.target):
                    raise InstantiationError(why)
                info = tuple((tuple(int(extent) for extent in arg.shape), arg.dtype) for arg in args)
            except InstantiationError as error:
                results[i] = _failure(MeasureErrorNo.INSTANTIATION_ERROR, error)
                continue
            except TookTooLong as error:
                results[i] = _failure(MeasureErrorNo.BUILD_TIMEOUT, f"the template: {error}", self.timeout)
                continue
            except Exception as error:
                results[i] = _failure(MeasureErrorNo.COMPILE_HOST, error)
                continue
            path = self._path("candidate")
            waiting.append((i, (schedule, args), path, info, time.time() - start))
        if waiting:
            target = measure_inputs[0].target
            built = self.build_schedules([each[1] for each in waiting], [each[2] for each in waiting], target)
            for (i, _, path, info, seconds), one in zip(waiting, built):
                seconds += one.seconds
                failed = _failure(MeasureErrorNo(one.error), one.message, seconds) if one.error else None
                results[i] = failed or BuildResult(path, info, None, seconds)
        return results

    def build_schedules(self, schedules: Any, paths: list[str], target: Any) -> list[Built]:
        """The libraries of schedules with their arguments; the function in each is `default_function`."""
        if self.build_func is None:
            candidates = [[schedule, list(args), _FUNCTION] for schedule, args in schedules]
            return build_candidates(Form.SCHEDULE, candidates, paths, target, self.n_parallel, self.timeout)
        return [self._build_by_function(sch, args, path, target) for (sch, args), path in zip(schedules, paths)]

    def _build_by_function(self, schedule: Any, args: Any, path: str, target: Any) -> Built:
        def build() -> None:
            with target:
                lowered = lower(schedule, args, name=_FUNCTION)
            build_module(lowered, target=target).export_library(path, self.build_func)

        start = time.time()
        try:
            call_within(self.timeout, build)
            return Built(0, "", time.time() - start)
        except TookTooLong as error:
            return Built(MeasureErrorNo.BUILD_TIMEOUT, f"building it: {error}", self.timeout)
        except Exception as error:
            return Built(MeasureErrorNo.COMPILE_HOST, str(error) or "it cannot be built", time.time() - start)

    def _path(self, kind: str) -> str:
        self._count += 1
        return str(self._folder.relpath(f"{kind}_{self._count}.so"))

    def _build_references(self, measure_inputs: Any) -> None:
        """Where the runner compares results: a library of each task without a schedule, by workload."""
        references: dict[Any, Any] | None = self.build_kwargs.get("references")
        if references is None:
            return
        for inp in measure_inputs:
            if inp.task.workload in references:
                continue
            references[inp.task.workload] = None
            try:
                with inp.target:
                    _, args = call_within(self.timeout, inp.task.instantiate, inp.config)
                outputs = [arg for arg in args if isinstance(arg.op, te.ComputeOp)]
                plain = te.create_schedule([out.op for out in outputs])
            except Exception:  # the candidate itself will say what is wrong
                references.pop(inp.task.workload)
                continue
            path = self._path("reference")
            if not self.build_schedules([(plain, args)], [path], inp.target)[0].error:
                references[inp.task.workload] = path, len(args) - len(outputs)


def _device_and_args(target: Any, arg_info: Any) -> tuple[int, list[Any]]:
    """The kind of device a target is for, and the arguments as the core takes them."""
    args: list[Any] = []
    for info in arg_info:
        is_value = hasattr(info, "numpy")
        args += [info, _dtype(info.dtype)] if is_value else [ShapeTuple(info[0]), _dtype(info[1])]
    return int(getattr(target.kind, "device_type", 1)), args


class _CoreRunner(Runner):
    def __init__(
        self,
        timeout: float,
        number: int,
        repeat: int,
        min_repeat_ms: int,
        cooldown_interval: float,
        check_correctness: bool = False,
    ) -> None:
        super().__init__(timeout, 1)
        self._references: dict[Any, Any] | None = {} if check_correctness else None
        self.number, self.repeat, self.min_repeat_ms = number, repeat, min_repeat_ms
        self.cooldown_interval = cooldown_interval
        self._runner: Any = None

    def _open(self) -> Any:
        raise NotImplementedError

    def get_build_kwargs(self) -> dict[str, Any]:
        """Where results are compared: where the builder puts what they are compared with."""
        return {} if self._references is None else {"references": self._references}

    def _wrong_answer(self, inp: Any, built: Any) -> str:
        """What is wrong with the results of a candidate; "" where nothing is, or where nobody asked."""
        reference = (self._references or {}).get(inp.task.workload)
        if reference is None:
            return ""
        path, inputs = reference
        device, args = _device_and_args(inp.target, built.arg_info)
        error, message = self._runner["compare"](
            path, built.filename, _FUNCTION, float(self.timeout), device, inputs, *args
        )
        return str(message) if int(error) == MeasureErrorNo.WRONG_ANSWER else ""

    def run(self, measure_inputs: Any, build_results: Any) -> list[MeasureResult]:
        """The times of all that could be built."""
        return [self._run_one(inp, built) for inp, built in zip(measure_inputs, build_results)]

    def _run_one(self, inp: Any, built: Any) -> MeasureResult:
        if isinstance(built, MeasureResult):
            return built
        start = time.time()
        error, message, costs = self.measure(inp.target, built.filename, built.arg_info)
        wrong = "" if error else self._wrong_answer(inp, built)
        Path(built.filename).unlink(missing_ok=True)
        seconds = time.time() - start + built.time_cost
        if error:
            return _failure(MeasureErrorNo(error), message, seconds)
        if wrong:
            return _failure(MeasureErrorNo.WRONG_ANSWER, wrong, seconds)
        if len(costs) > 2:  # the largest and the smallest are left out, as v0.10 does
            costs = sorted(costs)[1:-1]
        return MeasureResult(tuple(costs), MeasureErrorNo.NO_ERROR, seconds, time.time())

    def measure(self, target: Any, filename: str, arg_info: Any) -> tuple[int, str, list[float]]:
        """The number of an error (0: none) with its message, and the seconds of each run of a library.

        `arg_info` has a shape and type for each argument, or a tensor whose values it gets.
        """
        if self._runner is None:
            self._runner = self._open()
        device, args = _device_and_args(target, arg_info)
        error, message, times = self._runner["run"](
            filename, _FUNCTION, float(self.timeout), self.number, self.repeat, self.min_repeat_ms, device, *args
        )  # fmt: skip
        if device != 1 and self.cooldown_interval:
            time.sleep(self.cooldown_interval)
        return int(error), str(message), list(struct.unpack(f"@{len(times) // 8}d", bytes(times)))


def _dtype(dtype: Any) -> Any:
    from ..._ffi.runtime_ctypes import DataType

    return DataType(str(dtype))


class LocalRunner(_CoreRunner):
    """Runs in a worker process of this machine, which is started once, and again after a crash or a time limit.

    `cooldown_interval` is a pause after each run of a GPU; CPUs take none. With `check_correctness` results are compared with those
    of the template's compute without a schedule; others are an error of the candidate (WRONG_ANSWER).
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: Any = None,
        check_correctness: bool = False,
    ) -> None:
        super().__init__(timeout, number, repeat, min_repeat_ms, cooldown_interval, check_correctness)
        _reject(enable_cpu_cache_flush, module_loader)

    def _open(self) -> Any:
        program = Path(__file__).parents[2] / "bin" / "tessera-rpc-server"
        return get_global_func("tune.LocalRunner")(os.fspath(program))


class RPCRunner(_CoreRunner):
    """Runs on a server that a tracker lists under `key`; it is asked for again when its session is lost."""

    def __init__(
        self,
        key: str,
        host: str,
        port: int,
        priority: int = 1,
        timeout: float = 10,
        n_parallel: int | None = None,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: Any = None,
        check_correctness: bool = False,
    ) -> None:
        super().__init__(timeout, number, repeat, min_repeat_ms, cooldown_interval, check_correctness)
        _reject(enable_cpu_cache_flush, module_loader)
        del n_parallel
        self.key, self.host, self.port, self.priority = key, host, port, priority

    def _open(self) -> Any:
        return get_global_func("tune.RPCRunner")(self.host, int(self.port), self.key, self.priority)


def _reject(enable_cpu_cache_flush: bool, module_loader: Any) -> None:
    if enable_cpu_cache_flush:
        raise NotImplementedError("enable_cpu_cache_flush is not there: measure with number=1 and larger tensors")
    if module_loader is not None:
        raise NotImplementedError("module_loader is not there: candidates are loaded by the worker itself")


def request_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 1, timeout: int = 60
) -> Any:
    """A session with a server of a tracker."""
    host = host or os.environ["TVM_TRACKER_HOST"]
    port = port or int(os.environ["TVM_TRACKER_PORT"])
    return rpc.connect_tracker(host, port).request(device_key, priority=priority, session_timeout=timeout)
