"""Running on this machine."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._ffi.registry import get_global_func
from ..._ffi.runtime_ctypes import DataType
from ...autotvm.measure.build import TookTooLong, call_within
from ...runtime import Device, Module, ShapeTuple, device, load_module
from ..utils import get_global_func_with_default_on_worker
from .config import EvaluatorConfig
from .runner import Runner, RunnerFuture, RunnerInput, RunnerResult
from .utils import (
    T_ARG_INFO_JSON_OBJ_LIST,
    T_ARGUMENT_LIST,
    alloc_argument_common,
    run_evaluator_common,
)

__all__ = ["LocalRunner", "LocalRunnerFuture"]


class LocalRunnerFuture(RunnerFuture):
    """A result that is there: seconds, or what went wrong."""

    def __init__(self, res: list[float] | None = None, error_message: str | None = None) -> None:
        if (res is None) == (error_message is None):
            raise AttributeError("a result has either times or an error")
        super().__init__(lambda: True, lambda: RunnerResult(res, error_message))
        self.res, self.error_message = res, error_message


class _CoreRunner(Runner):
    """Runs libraries by the core's runner, one after the other, each within a time limit."""

    def __init__(self, timeout_sec: float, evaluator_config: EvaluatorConfig | None, cooldown_sec: float) -> None:
        self.timeout_sec, self.cooldown_sec = timeout_sec, cooldown_sec
        self.evaluator_config = EvaluatorConfig._normalized(evaluator_config)
        if self.evaluator_config.enable_cpu_cache_flush:
            raise NotImplementedError("enable_cpu_cache_flush is not there: measure with number=1 and larger tensors")
        self._runner: Any = None

    def _open(self) -> Any:
        raise NotImplementedError

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """The times of all candidates."""
        return [self._run_one(each) for each in runner_inputs]

    def _run_one(self, runner_input: RunnerInput) -> RunnerFuture:
        if self._runner is None:
            self._runner = self._open()
        config = self.evaluator_config
        args: list[Any] = []
        for info in runner_input.args_info:
            _, dtype, shape = info.as_json()
            args += [ShapeTuple(shape), DataType(dtype)]
        kind = int(device(runner_input.device_type, 0).device_type)
        error, message, times = self._runner["run"](
            runner_input.artifact_path, "main", float(self.timeout_sec), config.number, config.repeat,
            config.min_repeat_ms, kind, *args,
        )  # fmt: skip
        if self.cooldown_sec:
            time.sleep(self.cooldown_sec)
        if int(error):
            return LocalRunnerFuture(None, f"{type(self).__name__}: {message}")
        return LocalRunnerFuture(list(struct.unpack(f"@{len(times) // 8}d", bytes(times))), None)


class LocalRunner(_CoreRunner):
    """Runs in a worker process of this machine, which is started once, and again after a crash or a time limit.

    Functions of one's own (`f_alloc_argument`, `f_run_evaluator`, `f_cleanup`, or names of such) run in this process;
    they are given up after `timeout_sec` too.
    """

    def __init__(
        self,
        timeout_sec: float = 30,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: None | str | Callable = None,
        f_run_evaluator: None | str | Callable = None,
        f_cleanup: None | str | Callable = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(timeout_sec, evaluator_config, cooldown_sec)
        self.alloc_repeat = alloc_repeat
        self.f_alloc_argument, self.f_run_evaluator, self.f_cleanup = f_alloc_argument, f_run_evaluator, f_cleanup
        self._is_custom = any(each is not None for each in (f_alloc_argument, f_run_evaluator, f_cleanup))
        if initializer is not None:
            initializer()
        get_global_func_with_default_on_worker(f_alloc_argument, default_alloc_argument)
        get_global_func_with_default_on_worker(f_run_evaluator, default_run_evaluator)
        get_global_func_with_default_on_worker(f_cleanup, default_cleanup)

    def _open(self) -> Any:
        program = Path(__file__).parents[2] / "bin" / "tessera-rpc-server"
        return get_global_func("tune.LocalRunner")(os.fspath(program))

    def _run_one(self, runner_input: RunnerInput) -> RunnerFuture:
        if not self._is_custom:
            return super()._run_one(runner_input)
        alloc = get_global_func_with_default_on_worker(self.f_alloc_argument, default_alloc_argument)
        evaluate = get_global_func_with_default_on_worker(self.f_run_evaluator, default_run_evaluator)
        cleanup = get_global_func_with_default_on_worker(self.f_cleanup, default_cleanup)

        def run() -> Any:
            try:
                module = load_module(runner_input.artifact_path)
                dev = device(runner_input.device_type, 0)
                infos = [info.as_json() for info in runner_input.args_info]
                repeated = alloc(dev, infos, self.alloc_repeat)
                return evaluate(module, dev, self.evaluator_config, repeated)
            finally:
                cleanup()

        try:
            costs = call_within(self.timeout_sec, run)
            return LocalRunnerFuture([float(each) for each in costs], None)
        except TookTooLong:
            return LocalRunnerFuture(None, f"LocalRunner: Timeout, killed after {self.timeout_sec} seconds")
        except Exception as error:
            return LocalRunnerFuture(None, f"LocalRunner: An exception occurred\n{error}")


def default_alloc_argument(
    device: Device, args_info: T_ARG_INFO_JSON_OBJ_LIST, alloc_repeat: int
) -> list[T_ARGUMENT_LIST]:
    """Random arguments, `alloc_repeat` times."""
    fill = get_global_func("tvm.contrib.random.random_fill")
    return alloc_argument_common(fill, device, args_info, alloc_repeat)


def default_run_evaluator(
    rt_mod: Module, device: Device, evaluator_config: EvaluatorConfig, repeated_args: list[T_ARGUMENT_LIST]
) -> list[float]:
    """Seconds of each repeat."""
    return run_evaluator_common(rt_mod, device, evaluator_config, repeated_args)


def default_cleanup() -> None:
    """Nothing is left to clean up."""
