"""Functions of the compiler on tensors of other frameworks, which stay where they are."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ..runtime import ndarray as nd

__all__ = ["convert_func", "to_pytorch_func"]


def convert_func(tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]) -> Callable:
    """A function whose arguments of `tensor_type` go to `tvm_func` as NDArrays over the same memory."""

    @functools.wraps(tvm_func, assigned=(), updated=())
    def wrapper(*args: Any) -> Any:
        return tvm_func(*(nd.from_dlpack(to_dlpack_func(x)) if isinstance(x, tensor_type) else x for x in args))

    return wrapper


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable:
    """`convert_func` for tensors of PyTorch."""
    torch, torch_dlpack = importlib.import_module("torch"), importlib.import_module("torch.utils.dlpack")
    return convert_func(tvm_func, torch.Tensor, torch_dlpack.to_dlpack)
