"""MXNet symbols as Relay. The importer itself is part of the core; see src/frontend/mxnet."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from ...runtime.ndarray import array
from .. import transform

__all__ = ["from_mxnet"]


def _values(params: Any) -> dict[str, Any]:
    """Tensors of MXNet, NumPy or our own as our own."""
    out = {}
    for name, value in (params or {}).items():
        plain = value.asnumpy() if hasattr(value, "asnumpy") else value.numpy() if hasattr(value, "numpy") else value
        out[str(name).split(":", 1)[-1]] = array(np.ascontiguousarray(plain))
    return out


def _traced(block: Any, inputs: list[str]) -> tuple[Any, dict[str, Any]]:
    """The symbol of a Gluon block, and its parameters."""
    import mxnet

    made = block(*[mxnet.sym.Variable(name) for name in inputs])
    if isinstance(made, (list, tuple)):
        made = mxnet.sym.Group(list(made))
    return made, {name: value.data() for name, value in block.collect_params().items()}


def from_mxnet(
    symbol: Any,
    shape: dict[str, Any] | None = None,
    dtype: Any = "float32",
    arg_params: dict[str, Any] | None = None,
    aux_params: dict[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a `Symbol`, a Gluon `HybridBlock`, the text of a symbol, or the path of its file.

    Of a path the `.params` beside it are read, if no parameters are given. `shape` gives shapes of inputs by name, `dtype` one
    element type for all inputs or one by name. MXNet is needed only for its own objects.
    """
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    dtypes = {str(name): str(value) for name, value in dtype.items()} if isinstance(dtype, dict) else {}
    if not isinstance(dtype, dict) and str(dtype) != "float32":
        dtypes = dict.fromkeys(shapes, str(dtype))
    params = {**_values(arg_params), **_values(aux_params)}
    is_text = isinstance(symbol, str) and symbol.lstrip().startswith("{")
    if isinstance(symbol, (str, os.PathLike)) and not is_text and not params:
        mod, values = get_global_func("frontend.mxnet.import_files")(os.fspath(symbol), shapes, dtypes)
        return transform.InferType()(mod), dict(values.items())
    if is_text:
        text = symbol
    elif isinstance(symbol, (str, os.PathLike)):
        with open(symbol) as file:
            text = file.read()
    elif hasattr(symbol, "tojson"):
        text = symbol.tojson()
    elif hasattr(symbol, "collect_params"):
        if params:
            raise ValueError("arg_params and aux_params are not used when a HybridBlock is imported")
        made, own = _traced(symbol, list(shapes) or ["data"])
        text, params = made.tojson(), _values(own)
    else:
        raise ValueError(f"a Symbol, a HybridBlock, a symbol's text or its path is imported, not {type(symbol)}")
    mod, values = get_global_func("frontend.mxnet.import_symbol")(text, params, shapes, dtypes)
    return transform.InferType()(mod), dict(values.items())
