"""What runs candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..._ffi import register_object
from ...runtime import Object
from .. import _ffi_api
from ..arg_info import ArgInfo

__all__ = ["PyRunner", "PyRunnerFuture", "Runner", "RunnerFuture", "RunnerInput", "RunnerResult", "create"]


@register_object("meta_schedule.RunnerInput")
class RunnerInput(Object):
    """A library to run on a kind of device."""

    artifact_path: str
    device_type: str

    def __init__(self, artifact_path: str, device_type: str, args_info: list[ArgInfo]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.RunnerInput, str(artifact_path), str(device_type), args_info)


@register_object("meta_schedule.RunnerResult")
class RunnerResult(Object):
    """Seconds of each repeat, or what went wrong."""

    error_msg: str | None

    def __init__(self, run_secs: list[float] | None, error_msg: str | None) -> None:
        seconds = None if run_secs is None else [float(each) for each in run_secs]
        self.__init_handle_by_constructor__(_ffi_api.RunnerResult, seconds, error_msg)


class RunnerFuture:
    """A result that may not be there yet."""

    _f_done: Callable[[], bool]
    _f_result: Callable[[], RunnerResult] | None

    def __init__(self, f_done: Callable[[], bool], f_result: Callable[[], RunnerResult] | None = None) -> None:
        self.__dict__["_f_done"], self.__dict__["_f_result"] = f_done, f_result

    def done(self) -> bool:
        """True when it is there."""
        return bool(self._f_done())

    def result(self) -> RunnerResult:
        """The result; waits for it."""
        if self._f_result is None:
            raise NotImplementedError("PyRunnerFuture's result method is not implemented")
        return self._f_result()


class PyRunnerFuture:
    """A future in Python: override `done` and `result`, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {"cls": RunnerFuture, "methods": ["done", "result"]}

    def done(self) -> bool:
        """True when the result is there."""
        raise NotImplementedError

    def result(self) -> RunnerResult:
        """The result; waits for it."""
        raise NotImplementedError


class Runner:
    """Runs candidates."""

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """A future for each."""
        raise NotImplementedError


class _PyRunner(Runner):
    _f_run: Callable | None

    def __init__(self, f_run: Callable | None = None) -> None:
        self.__dict__["_f_run"] = f_run

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        if self._f_run is None:
            raise NotImplementedError("PyRunner's run method is not implemented")
        return list(self._f_run(runner_inputs))


class PyRunner:
    """A runner in Python: override `run`, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {"cls": _PyRunner, "methods": ["run"]}

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """A future for each."""
        raise NotImplementedError


def create(kind: str = "local", *args: Any, **kwargs: Any) -> Runner:
    """A runner of a kind: "local" or "rpc"."""
    from . import LocalRunner, RPCRunner

    kinds: dict[str, Any] = {"local": LocalRunner, "rpc": RPCRunner}
    if kind not in kinds:
        raise ValueError(f"Unknown Runner: {kind}; there are {', '.join(kinds)}")
    return kinds[kind](*args, **kwargs)
