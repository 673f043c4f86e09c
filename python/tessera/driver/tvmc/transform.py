"""Changes to a whole model before it is compiled."""

from __future__ import annotations

from ...ir import IRModule
from .. import _ffi_api
from .exceptions import from_core

__all__ = ["convert_graph_layout"]


def convert_graph_layout(mod: IRModule, desired_layout: str) -> IRModule:
    """The model with its convolutions, and what lies between them, in "NCHW" or "NHWC"."""
    with from_core():
        return _ffi_api.convert_layout(mod, desired_layout)
