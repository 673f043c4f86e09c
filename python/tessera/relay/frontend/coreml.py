"""Neural networks of CoreML as Relay. The importer itself is part of the core; see src/frontend/coreml."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .. import transform
from .caffe import serialized

__all__ = ["from_coreml"]


def from_coreml(model: Any, shape: dict[str, Any] | None = None) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a neural network of CoreML.

    `model` is the path of an `.mlmodel` file, its bytes, its specification (a `Model` message), or a `coremltools.models.MLModel`.
    `shape` gives shapes of inputs by name in place of those that the model says. coremltools is not needed.
    """
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    if isinstance(model, (str, os.PathLike)):
        mod, params = get_global_func("frontend.coreml.import_file")(os.fspath(model), shapes)
    else:
        message = model.get_spec() if hasattr(model, "get_spec") else model
        mod, params = get_global_func("frontend.coreml.import_bytes")(serialized(message), shapes)
    return transform.InferType()(mod), dict(params.items())
