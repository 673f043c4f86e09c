"""Networks of Caffe2 as Relay. The importer itself is part of the core; see src/frontend/caffe2."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .. import transform
from .caffe import serialized

__all__ = ["from_caffe2"]


def from_caffe2(
    init_net: Any, predict_net: Any = None, shape: dict[str, Any] | None = None, dtype: Any = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from the network that fills tensors (`init_net`) and the one that computes (`predict_net`).

    Both are `NetDef` messages or their bytes; or `init_net` is the path of one of the two files, and the other one lies beside it.
    `shape` gives shapes of inputs by name, which networks do not know, `dtype` one element type for all inputs or one by name.
    """
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    dtypes = {str(name): str(value) for name, value in dtype.items()} if isinstance(dtype, dict) else {}
    if not isinstance(dtype, dict):
        dtypes = dict.fromkeys(shapes, str(dtype))
    if predict_net is None:
        mod, params = get_global_func("frontend.caffe2.import_files")(os.fspath(init_net), shapes, dtypes)
    else:
        run = get_global_func("frontend.caffe2.import_bytes")
        mod, params = run(serialized(init_net), serialized(predict_net), shapes, dtypes)
    return transform.InferType()(mod), dict(params.items())
