"""Functions that hybrid scripts call by name: their calls as expressions or ranges."""

from __future__ import annotations

from typing import Any

from ... import tir
from ...target import Target
from ...tir.op_calls import call_intrin

__all__ = ["bind", "ceil_div", "inf", "len", "likely", "max_num_threads", "ninf"]


def bind(func_id: str, args: Any) -> Any:
    """bind("threadIdx.x", n): (the thread's loop, its first index, its extent)."""
    if func_id != "bind" or not isinstance(args[0], str):
        raise ValueError("bind takes the name of a thread axis and its extent")
    from .. import thread_axis

    axis = thread_axis(args[0])
    return axis, tir.const(0, "int32"), args[1], None


def len(func_id: str, args: Any) -> Any:
    """len(x): the first extent of a tensor."""
    if func_id != "len":
        raise ValueError(f"{func_id} is not len")
    return args[0].shape[0]


def likely(func_id: str, args: Any) -> Any:
    """likely(x): a condition that mostly holds."""
    return call_intrin(args[0].dtype, f"tir.{func_id}", *args)


def max_num_threads(func_id: str, args: Any) -> Any:
    """max_num_threads(allow_none): the most threads of a block on the current target."""
    del func_id
    allow_none = bool(int(args[0])) if args else True
    target = Target.current(allow_none)
    return tir.const(int(target.max_num_threads) if target is not None else 1, "int32")


def inf(func_id: str, args: Any) -> Any:
    """inf(dtype): the greatest value of a type."""
    del func_id
    return tir.max_value(getattr(args[0], "value", args[0]))


def ninf(func_id: str, args: Any) -> Any:
    """ninf(dtype): the least value of a type."""
    del func_id
    return tir.min_value(getattr(args[0], "value", args[0]))


def ceil_div(func_id: str, args: Any) -> Any:
    """ceil_div(a, b): a / b rounded up."""
    del func_id
    a, b = args
    return tir.floordiv(a + (b - 1), b)
