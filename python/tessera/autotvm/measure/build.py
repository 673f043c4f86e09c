"""Building candidates with the core (`src/driver/build_candidates.h`), and calls of users' functions that must not last forever."""

from __future__ import annotations

import ctypes
import enum
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._ffi.registry import get_global_func
from ...driver import lower
from ...ir.transform import PassContext
from ...target import Target
from ...tir.analysis import verify_gpu_code

__all__ = ["Built", "Form", "TookTooLong", "build_candidates", "call_within", "why_no_gpu_runs"]


class Form(enum.IntEnum):
    """What candidates are given as."""

    LOWERED = 0  #: a module of lowered functions
    PROGRAM = 1  #: a module that is to be lowered
    SCHEDULE = 2  #: [te.Schedule, its arguments, the function's name]


class Built(NamedTuple):
    """The number of an error (0: none, see MeasureErrorNo) with its message, and how long building took."""

    error: int
    message: str
    seconds: float


def build_candidates(
    form: Form, candidates: Any, paths: list[str], target: Any, threads: int | None = None, timeout: float = 0
) -> list[Built]:
    """Makes the library of each candidate, in processes of the compiler, of which there are `threads`. One that takes longer than
    `timeout` seconds (0: no limit), or whose process dies, has an error."""
    build = get_global_func("tune.BuildCandidates")
    found = build(int(form), list(candidates), paths, target, threads or 0, float(timeout or 0))
    return [Built(int(error), str(message), float(seconds)) for error, message, seconds in found]


_GPU_LIMITS = {  # of all GPUs of today, where the target says no others
    "max_threads_per_block": "max_num_threads",
    "max_shared_memory_per_block": "max_shared_memory_per_block",
}


def why_no_gpu_runs(schedule: Any, args: Any, target: Any) -> str:
    """What a schedule for a GPU asks for that the target has not; "" where it has all, and for CPUs."""
    if "gpu" not in [str(key) for key in target.keys]:
        return ""
    limits = {"max_threads_per_block": 1024, "max_shared_memory_per_block": 48 << 10}
    for name, attribute in _GPU_LIMITS.items():
        limits[name] = int(target.attrs.get(attribute, limits[name]))
    limits |= {"max_thread_x": 1024, "max_thread_y": 1024, "max_thread_z": 64}
    with target:
        lowered = lower(schedule, args)
    if all(verify_gpu_code(function, limits) for function in lowered.functions.values()):
        return ""
    return "it takes more than a GPU has: " + ", ".join(f"{name} {most}" for name, most in limits.items())


class TookTooLong(Exception):
    """A call was given up."""


def call_within(seconds: float, function: Callable, *args: Any) -> Any:
    """What a function of a user gives, called on another thread in the target and the pass context of this one. After so many seconds
    (0: no limit) it is given up with TookTooLong, and ends where it is in Python next."""
    if not seconds:
        return function(*args)
    target, passes = Target.current(), PassContext.current()
    outcome: list[Any] = []

    def call() -> None:
        try:
            required, disabled = list(passes.required_pass), list(passes.disabled_pass)
            with PassContext(passes.opt_level, required, disabled, [], dict(passes.config.items())):
                if target is None:
                    outcome.append((function(*args), None))
                else:
                    with target:
                        outcome.append((function(*args), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TookTooLong))
        raise TookTooLong(f"it takes longer than {seconds:g} s")
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
