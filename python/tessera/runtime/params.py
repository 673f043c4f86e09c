"""Named tensors as one blob of bytes."""

from __future__ import annotations

from typing import Any

from .._ffi_core import NDArrayBase
from . import _ffi_api
from .ndarray import array

__all__ = ["load_param_dict", "load_param_dict_from_file", "save_param_dict", "save_param_dict_to_file"]


def save_param_dict(params: Any) -> bytearray:
    """Tensors by name (NDArrays, or what NumPy understands) as bytes in v0.10's format."""
    tensors = {name: value if isinstance(value, NDArrayBase) else array(value) for name, value in params.items()}
    return _ffi_api.SaveParams(dict(reversed(list(tensors.items()))))  # the last first, as v0.10 writes them


def save_param_dict_to_file(params: Any, path: str) -> None:
    """Writes what `save_param_dict` gives to a file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict(param_bytes: bytes | bytearray | str) -> Any:
    """The Map of tensors that `save_param_dict` wrote. Damaged bytes are a ValueError that says where."""
    if isinstance(param_bytes, str):
        param_bytes = param_bytes.encode("latin-1")
    return _ffi_api.LoadParams(param_bytes)


def load_param_dict_from_file(path: str) -> Any:
    """The Map of tensors in a file."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())
