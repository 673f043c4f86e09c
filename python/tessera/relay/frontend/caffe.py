"""Networks of Caffe as Relay. The importer itself is part of the core; see src/frontend/caffe."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .. import transform

__all__ = ["from_caffe"]


def serialized(message: Any) -> bytes:
    """A protobuf message, or its bytes, as bytes."""
    return bytes(message) if isinstance(message, (bytes, bytearray)) else bytes(message.SerializeToString())


def from_caffe(
    init_net: Any,
    predict_net: Any = None,
    shape_dict: dict[str, Any] | None = None,
    dtype_dict: dict[str, str] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from the weights (`init_net`, a caffemodel) and the layers (`predict_net`, a prototxt).

    Both are `NetParameter` messages or their bytes, the layers also their text; or `init_net` is the path of one of the two files, and
    the other one lies beside it. `shape_dict` and `dtype_dict` give shapes and element types of inputs by name. Caffe is not needed.
    """
    shapes = {str(name): list(extents) for name, extents in (shape_dict or {}).items()}
    dtypes = {str(name): str(value) for name, value in (dtype_dict or {}).items()}
    if predict_net is None:
        mod, params = get_global_func("frontend.caffe.import_files")(os.fspath(init_net), shapes, dtypes)
    else:
        layers = predict_net.encode() if isinstance(predict_net, str) else serialized(predict_net)
        mod, params = get_global_func("frontend.caffe.import_bytes")(layers, serialized(init_net), shapes, dtypes)
    return transform.InferType()(mod), dict(params.items())
