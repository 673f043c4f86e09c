"""Functions of the compiler on tensors of MXNet, which stay where they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..runtime import ndarray as nd

__all__ = ["to_mxnet_func"]


def to_mxnet_func(func: Callable[..., Any], const_loc: Sequence[int] | None = None) -> Callable[..., Any]:
    """A function over MXNet's arrays; those at the positions `const_loc` are read only, the others may be written."""
    mxnet = importlib.import_module("mxnet")
    constants = set(const_loc or [])

    def wrapper(*args: Any) -> Any:
        shared = []
        for i, arg in enumerate(args):
            if isinstance(arg, mxnet.nd.NDArray):
                give = arg.to_dlpack_for_read if i in constants else arg.to_dlpack_for_write
                shared.append(nd.from_dlpack(give()))
            else:
                shared.append(arg)
        return func(*shared)

    return wrapper
