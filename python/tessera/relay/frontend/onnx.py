"""ONNX models as Relay. The importer itself is part of the core; see src/frontend/onnx."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .. import transform

__all__ = ["from_onnx"]


def from_onnx(
    model: Any,
    shape: dict[str, Any] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: dict[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from an ONNX model: a `ModelProto`, its bytes, or the path of a file.

    `shape` gives shapes of inputs where the file leaves them open; with `freeze_params` weights are constants of the
    module, else parameters. `dtype` by name gives inputs another element type than the file says.
    """
    del convert_config
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    dtypes = {str(name): str(value) for name, value in dtype.items()} if isinstance(dtype, dict) else {}
    version = -1 if opset is None else int(opset)
    if isinstance(model, (str, os.PathLike)):
        mod, params = get_global_func("frontend.onnx.import_file")(
            os.fspath(model), shapes, dtypes, version, freeze_params
        )
    else:
        data = model if isinstance(model, (bytes, bytearray)) else model.SerializeToString()
        mod, params = get_global_func("frontend.onnx.import_bytes")(
            bytearray(data), "", shapes, dtypes, version, freeze_params
        )
    mod = transform.InferType()(mod)
    if freeze_params:
        mod = transform.FoldConstant()(mod)
    return mod, dict(params.items())
