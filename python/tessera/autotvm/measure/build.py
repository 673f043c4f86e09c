"""Building candidates with the core (`src/driver/build_candidates.h`), and calls of users' functions that must not last forever."""

from __future__ import annotations

import ctypes
import enum
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._ffi.registry import get_global_func
from ...ir.transform import PassContext
from ...target import Target

__all__ = ["Built", "Form", "TookTooLong", "build_candidates", "call_within"]


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
