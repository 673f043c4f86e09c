"""Running on machines that a tracker knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..._ffi.registry import get_global_func
from ...runtime import Device, Module
from ..utils import get_global_func_on_rpc_session, get_global_func_with_default_on_worker
from .config import EvaluatorConfig, RPCConfig
from .local_runner import LocalRunnerFuture, _CoreRunner
from .runner import RunnerFuture, RunnerInput, RunnerResult
from .utils import (
    T_ARG_INFO_JSON_OBJ_LIST,
    T_ARGUMENT_LIST,
    alloc_argument_common,
    run_evaluator_common,
)

__all__ = ["RPCRunner", "RPCRunnerFuture"]


class RPCRunnerFuture(RunnerFuture):
    """A result of another machine, from a future of `concurrent.futures`."""

    def __init__(self, future: Any, timeout_sec: float) -> None:
        self.future, self.timeout_sec = future, timeout_sec

        def result() -> RunnerResult:
            try:
                return RunnerResult(future.result(timeout=timeout_sec), None)
            except TimeoutError:
                return RunnerResult(None, f"RPCRunner: Timeout, killed after {timeout_sec} seconds")
            except Exception as error:
                return RunnerResult(None, f"RPCRunner: An exception occurred\n{error}")

        super().__init__(lambda: bool(future.done()), result)


class RPCRunner(_CoreRunner):
    """Runs on a server of a tracker, one candidate after the other; a server is asked for again when its session is lost.

    Functions of one's own take the session: `f_create_session(rpc_config)`, `f_upload_module(session, local, remote)`,
    `f_alloc_argument(session, device, args_info, alloc_repeat)`, `f_run_evaluator(session, module, device, config, args)` and
    `f_cleanup(session, remote)`.
    """

    def __init__(
        self,
        rpc_config: RPCConfig | None = None,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_create_session: None | str | Callable = None,
        f_upload_module: None | str | Callable = None,
        f_alloc_argument: None | str | Callable = None,
        f_run_evaluator: None | str | Callable = None,
        f_cleanup: None | str | Callable = None,
        max_workers: int | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.rpc_config = RPCConfig._normalized(rpc_config)
        super().__init__(self.rpc_config.session_timeout_sec, evaluator_config, cooldown_sec)
        del max_workers
        self.alloc_repeat = alloc_repeat
        self._functions = (f_create_session, f_upload_module, f_alloc_argument, f_run_evaluator, f_cleanup)
        if initializer is not None:
            initializer()
        self._chosen()

    def _chosen(self) -> list[Callable]:
        defaults: tuple[Callable, ...] = (
            default_create_session,
            default_upload_module,
            default_alloc_argument,
            default_run_evaluator,
            default_cleanup,
        )
        return [get_global_func_with_default_on_worker(f, d) for f, d in zip(self._functions, defaults)]

    def _open(self) -> Any:
        config = self.rpc_config
        return get_global_func("tune.RPCRunner")(
            config.tracker_host, int(config.tracker_port or 0), config.tracker_key, config.session_priority
        )

    def _run_one(self, runner_input: RunnerInput) -> RunnerFuture:
        if all(each is None for each in self._functions):
            return super()._run_one(runner_input)
        create, upload, alloc, evaluate, cleanup = self._chosen()
        session, remote = None, os.path.basename(runner_input.artifact_path)
        try:
            try:
                session = create(self.rpc_config)
                dev = session.device(runner_input.device_type, 0)
                module = upload(session, runner_input.artifact_path, remote)
                infos = [info.as_json() for info in runner_input.args_info]
                repeated = alloc(session, dev, infos, self.alloc_repeat)
                costs = evaluate(session, module, dev, self.evaluator_config, repeated)
            finally:
                cleanup(session, remote)
            return LocalRunnerFuture([float(each) for each in costs], None)
        except Exception as error:
            return LocalRunnerFuture(None, f"RPCRunner: An exception occurred\n{error}")


def default_create_session(rpc_config: RPCConfig) -> Any:
    """A session with a server."""
    return rpc_config.connect_server()


def default_upload_module(session: Any, local_path: str, remote_path: str) -> Module:
    """The library, over there."""
    session.upload(local_path, remote_path)
    return session.load_module(remote_path)


def default_alloc_argument(
    session: Any, device: Device, args_info: T_ARG_INFO_JSON_OBJ_LIST, alloc_repeat: int
) -> list[T_ARGUMENT_LIST]:
    """Random arguments, `alloc_repeat` times."""
    fill = get_global_func_on_rpc_session(session, "tvm.contrib.random.random_fill")
    return alloc_argument_common(fill, device, args_info, alloc_repeat)


def default_run_evaluator(
    session: Any,
    rt_mod: Module,
    device: Device,
    evaluator_config: EvaluatorConfig,
    repeated_args: list[T_ARGUMENT_LIST],
) -> list[float]:
    """Seconds of each repeat."""
    del session
    return run_evaluator_common(rt_mod, device, evaluator_config, repeated_args)


def default_cleanup(session: Any, remote_path: str | None) -> None:
    """Removes what was uploaded."""
    if session is not None and remote_path is not None:
        for name in (remote_path, remote_path + ".so", ""):
            with suppress(Exception):
                session.remove(name)
