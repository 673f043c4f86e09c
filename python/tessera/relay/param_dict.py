"""Saving and loading named parameters."""

from __future__ import annotations

from typing import Any

from ..runtime import load_param_dict as _load
from ..runtime import save_param_dict as _save

__all__ = ["load_param_dict", "save_param_dict"]


def save_param_dict(params: dict[str, Any]) -> bytes:
    """The parameters as bytes; the same as tvm.runtime.save_param_dict."""
    return _save(params)


def load_param_dict(param_bytes: bytes) -> Any:
    """The parameters that save_param_dict wrote."""
    return _load(param_bytes)
