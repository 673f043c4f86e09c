"""Functions that tests of `contrib.popen_pool` call in other processes."""

from __future__ import annotations

import time
from typing import Any

from .._ffi.registry import get_global_func, register_func

__all__ = [
    "after_initializer",
    "call_cpp_ffi",
    "call_cpp_py_ffi",
    "call_py_ffi",
    "fast_summation",
    "identity_py",
    "initializer",
    "register_ffi",
    "slow_summation",
    "timeout_job",
]

_state: tuple[Any, Any, Any] = (0, 0, 0)


def initializer(test_global_state_1: Any, test_global_state_2: Any, test_global_state_3: Any) -> None:
    """Sets the state of the process."""
    global _state
    _state = test_global_state_1, test_global_state_2, test_global_state_3


def after_initializer() -> tuple[Any, Any, Any]:
    """The state of the process."""
    return _state


def identity_py(arg: Any) -> Any:
    """`arg`."""
    return arg


def register_ffi() -> None:
    """Registers `identity_py` as "testing.identity_py"."""
    register_func("testing.identity_py", identity_py, override=True)


def call_py_ffi(arg: Any) -> Any:
    """`arg`, by way of a function of Python that the registry holds."""
    return get_global_func("testing.identity_py")(arg)


def call_cpp_ffi(arg: Any) -> Any:
    """`arg`, by way of a function of C++."""
    return get_global_func("testing.echo")(arg)


def call_cpp_py_ffi(arg: Any) -> Any:
    """`arg`, by way of a function of C++ that calls one of Python."""
    return get_global_func("testing.test_wrap_callback")(lambda: call_py_ffi(arg))()


def fast_summation(n: int) -> int:
    """The sum of the numbers up to n, by the formula."""
    return n * (n + 1) // 2


def slow_summation(n: int) -> int:
    """The sum of the numbers up to n, one by one."""
    total = 0
    for i in range(n + 1):
        total += i
    return total


def timeout_job(n: float) -> None:
    """Takes longer than n seconds."""
    time.sleep(n * 1.5)
