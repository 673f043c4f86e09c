"""Named tensors as one blob of bytes."""

from __future__ import annotations

import os
from typing import Any

from .._ffi_core import NDArrayBase
from . import _ffi_api
from .ndarray import array

__all__ = ["load_param_dict", "load_param_dict_from_file", "save_param_dict", "save_param_dict_to_file"]


def save_param_dict(params: Any) -> bytearray:
    """Tensors by name (NDArrays, or what NumPy understands) as bytes in v0.10's format."""
    return _ffi_api.SaveParams(_tensors(params))


def save_param_dict_to_file(params: Any, path: str | os.PathLike[str]) -> None:
    """Writes what `save_param_dict` gives to a file, which is replaced in one step."""
    _ffi_api.SaveParamsToFile(_tensors(params), os.fspath(path))


def _tensors(params: Any) -> dict[str, Any]:
    """The last first, as v0.10 writes them."""
    tensors = {name: value if isinstance(value, NDArrayBase) else array(value) for name, value in params.items()}
    return dict(reversed(list(tensors.items())))


def load_param_dict(param_bytes: bytes | bytearray | str) -> Any:
    """The Map of tensors that `save_param_dict` wrote. Damaged bytes are a ValueError that says where."""
    if isinstance(param_bytes, str):
        param_bytes = param_bytes.encode("latin-1")
    return _ffi_api.LoadParams(param_bytes)


def load_param_dict_from_file(path: str | os.PathLike[str]) -> Any:
    """The Map of tensors in a file."""
    return _ffi_api.LoadParamsFromFile(os.fspath(path))
