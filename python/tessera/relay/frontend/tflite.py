"""TFLite models as Relay. The importer itself is part of the core; see src/frontend/tflite."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule

__all__ = ["OperatorConverter", "from_tflite"]


class OperatorConverter:
    """What v0.10 converts operators with. Here the core does: a converter of your own is rejected."""


def _bytes_of(model: Any) -> bytes:
    """The file behind an object of the package `tflite`, which keeps it beside its table."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    table = getattr(model, "_tab", None)
    if table is None:
        raise ValueError(
            f"a TFLite model is its bytes, the path of a file or a tflite.Model, not {type(model).__name__}"
        )
    return bytes(table.Bytes)


def from_tflite(
    model: Any, shape_dict: Any = None, dtype_dict: Any = None, op_converter: Any = OperatorConverter
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a TFLite model: a `tflite.Model`, the bytes of a file, or its path.

    `shape_dict` and `dtype_dict` give inputs other shapes and types than the file, by name. Quantised models stay in
    integers (qnn). What variables hold at the end of a run, as the states of recurrent layers, is not seen by the next.
    """
    if op_converter is not OperatorConverter:
        raise NotImplementedError(
            "from_tflite: the core converts operators itself, so op_converter has no effect; leave it out"
        )
    shapes = {str(name): list(extents) for name, extents in (shape_dict or {}).items()}
    dtypes = {str(name): str(dtype) for name, dtype in (dtype_dict or {}).items()}
    if isinstance(model, (str, os.PathLike)):
        mod, params = get_global_func("frontend.tflite.import_file")(os.fspath(model), shapes, dtypes, False)
    else:
        mod, params = get_global_func("frontend.tflite.import_bytes")(_bytes_of(model), shapes, dtypes, False)
    return mod, dict(params.items())
