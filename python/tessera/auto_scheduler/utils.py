"""Small things that the modules of this package share."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..te import Tensor, placeholder
from ..tir import expr

__all__ = [
    "PropagatingThread",
    "array_mean",
    "calc_workload_dis_factor",
    "call_func_with_thread",
    "call_func_with_timeout",
    "check_remote",
    "decode_workload_key",
    "deserialize_args",
    "get_const_int",
    "get_const_tuple",
    "get_func_name",
    "kill_child_processes",
    "list_to_tuple",
    "make_traceback_info",
    "request_remote",
    "serialize_args",
    "to_str_round",
]


def decode_workload_key(workload_key: str) -> tuple[str | None, Any]:
    """The name or hash of a workload and its arguments; (the key, None) where it is no JSON list."""
    try:
        key_list = json.loads(workload_key)
    except json.JSONDecodeError:
        return workload_key, None
    if isinstance(key_list, list) and key_list:
        return key_list[0], list_to_tuple(key_list[1:])
    return workload_key, None


def calc_workload_dis_factor(target_workload_pair: tuple[Any, Any], workload_pair: tuple[Any, Any]) -> float:
    """How much work the target has for each unit of the other; infinity where one schedule does not fit both.

    Both are (key, arguments). Arguments must agree in kind, and each integer of the target be a multiple of the other's.
    """
    target_key, target_args = target_workload_pair
    key, args = workload_pair
    if key != target_key or len(target_args) != len(args):
        return float("inf")

    def flatten(values: Any) -> list[Any]:
        out = []
        for value in values:
            out.extend(flatten(value) if isinstance(value, (tuple, list)) else [value])
        return out

    flat_target, flat = flatten(target_args), flatten(args)
    if len(flat_target) != len(flat):
        return float("inf")
    factor = 1.0
    for wanted, known in zip(flat_target, flat):
        if type(wanted) is not type(known):
            return float("inf")
        if isinstance(wanted, int) and not isinstance(wanted, bool):
            if known == 0 or wanted % known:
                return float("inf")
            factor *= wanted / known
        elif wanted != known:
            return float("inf")
    return factor


def get_func_name(func: Callable) -> str:
    """The name a function was defined by, also behind a packed function."""
    return getattr(func, "func_name", None) or func.__qualname__


def get_const_int(exp: Any) -> int:
    """A constant as an int; ValueError for anything else."""
    from ..arith import Analyzer

    if isinstance(exp, (int, np.integer)):
        return int(exp)
    if not isinstance(exp, expr.IntImm):
        exp = Analyzer().simplify(exp)
    if not isinstance(exp, expr.IntImm):
        raise ValueError("Expect value to be constant int")
    return int(exp.value)


def get_const_tuple(in_tuple: Any) -> tuple[int, ...]:
    """Constants as a tuple of ints."""
    return tuple(get_const_int(each) for each in in_tuple)


def list_to_tuple(x: Any) -> tuple[Any, ...]:
    """A list as a tuple, and lists inside it too."""
    assert isinstance(x, list)
    return tuple(list_to_tuple(each) if isinstance(each, list) else each for each in x)


def serialize_args(args: Any) -> list[Any]:
    """Arguments as a JSON list; a tensor is ("TENSOR", shape, dtype)."""
    out: list[Any] = []
    for arg in args:
        if isinstance(arg, Tensor):
            out.append(("TENSOR", get_const_tuple(arg.shape), arg.dtype))
        elif isinstance(arg, list):
            out.append(list_to_tuple(arg))
        elif isinstance(arg, (expr.IntImm, expr.FloatImm)):
            out.append(arg.value)
        else:
            assert isinstance(arg, (str, int, float, tuple, np.integer)) or arg is None, (
                f"cannot write {arg!r} into a key"
            )
            out.append(int(arg) if isinstance(arg, np.integer) else arg)
    return out


def deserialize_args(args: Any) -> list[Any]:
    """Arguments from what `serialize_args` gave."""
    out = []
    for arg in args:
        is_tensor = isinstance(arg, (tuple, list)) and len(arg) == 3 and arg[0] == "TENSOR"
        out.append(placeholder(shape=arg[1], dtype=arg[2]) if is_tensor else arg)
    return out


def kill_child_processes(parent_pid: int, sig: int = 15) -> None:
    """Sends a signal to all processes that a process has started, directly or not."""
    try:
        with open(f"/proc/{parent_pid}/task/{parent_pid}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
    except OSError:
        return
    for child in children:
        kill_child_processes(child, sig)
        with contextlib.suppress(OSError):
            os.kill(child, sig)


def make_traceback_info() -> str:
    """The trace of the error that is being handled, its middle left out where it is long."""
    import traceback

    info = traceback.format_exc()
    return info if len(info) <= 4096 else info[:2048] + "\n...\n" + info[-2048:]


class PropagatingThread(threading.Thread):
    """A thread whose error is raised again where its result is waited for."""

    exc: BaseException | None = None

    def run(self) -> None:
        """Calls the target."""
        try:
            self.ret = self._target(*self._args, **self._kwargs)  # type: ignore[attr-defined]
        except Exception as error:
            self.exc = error

    def join(self, timeout: float | None = None) -> Any:
        """What the target gave."""
        super().join(timeout)
        if self.exc:
            raise self.exc
        return getattr(self, "ret", None)


def call_func_with_thread(func: Callable, args: Any, kwargs: Any) -> Any:
    """A call on a thread of its own."""
    out = []
    thread = PropagatingThread(target=lambda: out.append(func(*args, **kwargs)))
    thread.start()
    thread.join()
    return out[0]


def call_func_with_timeout(worker: Any, timeout: float, func: Callable, args: Any = (), kwargs: Any = None) -> Any:
    """A call by a worker process that has `send` and `recv`; a TimeoutError or an error of the call is the result."""
    worker.send(func, args, kwargs or {}, timeout)
    try:
        return worker.recv()
    except Exception as error:
        return error


def request_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 1, timeout: int = 60
) -> Any:
    """A session with a server of a tracker."""
    from ..autotvm.measure.measure_methods import request_remote as request

    return request(device_key, host, port, priority, timeout)


def check_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 100, timeout: int = 10
) -> bool:
    """True when a server of a tracker answers in time."""
    thread = threading.Thread(target=lambda: request_remote(device_key, host, port, priority), daemon=True)
    thread.start()
    thread.join(timeout)
    return not thread.is_alive()


def array_mean(arr: Any) -> float:
    """The mean of constants."""
    return sum(float(x.value) for x in arr) / len(arr)


def to_str_round(x: Any, decimal: int = 6) -> str:
    """Numbers, and lists of them, with so many digits."""
    if isinstance(x, str):
        return x
    if isinstance(x, (list, tuple, np.ndarray)):
        return "[" + ", ".join(to_str_round(each, decimal=decimal) for each in x) + "]"
    if isinstance(x, dict):
        return str({key: to_str_round(value) for key, value in x.items()})
    if isinstance(x, (int, np.integer)):
        return str(x)
    if isinstance(x, (float, np.floating)):
        return f"{x:.{decimal}f}"
    raise ValueError(f"Invalid value: {x}\ttype: {type(x)}")
