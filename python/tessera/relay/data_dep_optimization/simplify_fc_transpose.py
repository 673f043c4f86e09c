"""Weights of dense layers that a model transposes at each call, transposed once."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...ir.transform import PassContext
from ...runtime import ndarray as nd
from .. import transform
from ..analysis import search_fc_transpose
from ..function import Function

__all__ = ["convert"]


def convert(func: Function, params: dict[str, Any]) -> tuple[Function, dict[str, Any]]:
    """The function with `nn.dense(x, transpose(w))` as `nn.dense(x, w.T)`, and the parameters that it takes."""
    names = [name for name in search_fc_transpose(func) if name in params]
    mod = IRModule.from_expr(func)
    with PassContext(opt_level=4):
        new = transform.SimplifyFCTranspose(names)(transform.InferType()(mod))["main"]
    kept = {param.name_hint for param in new.params}
    out = {name: value for name, value in params.items() if name in kept or name not in names}
    for name in names:
        out[name + ".T"] = nd.array(params[name].numpy().transpose())
    return new, out
