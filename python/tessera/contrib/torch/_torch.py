"""PyTorch where it is installed; without it these modules can be imported, and using them says what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from ...runtime.ndarray import NDArray, from_dlpack

_NEEDED = "tessera.contrib.torch needs PyTorch, which is not installed: pip install torch"


def need_torch() -> Any:
    """PyTorch's module."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(_NEEDED, name="torch") from None


class _NoModule:
    """Stands for `torch.nn.Module`."""

    def __init__(self, *args: Any, **kwargs: Any):
        need_torch()


def _module_class() -> Any:
    try:
        return need_torch().nn.Module
    except ModuleNotFoundError:
        return _NoModule


#: `torch.nn.Module`.
Module: Any = _module_class()


def ndarray_of(tensor: Any) -> NDArray:
    """A tensor of PyTorch as ours, on the same memory where it has no gaps."""
    return from_dlpack(tensor.detach().contiguous().__dlpack__())


def torch_of(array: NDArray) -> Any:
    """A tensor of ours as PyTorch's, on the same memory."""
    return need_torch().utils.dlpack.from_dlpack(array.to_dlpack())


def device_of(device: Any) -> Any:
    """A device of PyTorch as ours."""
    from ...runtime.ndarray import device as make_device

    return make_device("cuda" if device.type == "cuda" else "cpu", device.index or 0)
