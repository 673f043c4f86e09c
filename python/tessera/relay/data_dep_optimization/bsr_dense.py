"""Linear layers whose weights are mostly zeros, as layers of sparse matrices in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import IRModule, Op
from ...runtime import ndarray as nd
from .. import transform
from ..analysis import free_vars
from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..op.nn.sparse import sparse_dense
from ..ty import TensorType

__all__ = ["convert"]


def _blocks(weight: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(data, indices, indptr) of the blocks that are not zero."""
    rows, columns = weight.shape[0] // height, weight.shape[1] // width
    tiles = weight.reshape(rows, height, columns, width).swapaxes(1, 2)
    is_used = tiles.any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(is_used.sum(1))]).astype("int32")
    return np.ascontiguousarray(tiles[is_used]), np.nonzero(is_used)[1].astype("int32"), indptr


class _Converter(ExprMutator):
    def __init__(self, params: dict[str, Any], blocksize: tuple[int, int], threshold: float):
        super().__init__()
        self.params, self.blocksize, self.threshold = params, blocksize, threshold

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        is_dense = isinstance(call.op, Op) and call.op.name == "nn.dense" and isinstance(call.args[1], Var)
        name = call.args[1].name_hint if is_dense else ""
        if name not in self.params:
            return out
        value = self.params[name]
        weight = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
        height, width = self.blocksize
        if weight.shape[0] % height or weight.shape[1] % width:
            return out
        parts = _blocks(weight, height, width)
        if 1 - parts[0].size / weight.size < self.threshold:
            return out
        names = [f"{name}.{end}" for end in ("data", "indices", "indptr")]
        self.params.update({key: nd.array(part) for key, part in zip(names, parts)})
        variables = [Var(key, _type_of(part)) for key, part in zip(names, parts)]
        return sparse_dense(out.args[0], variables)


def _type_of(array: np.ndarray) -> Any:
    """The type of an array."""
    return TensorType(list(array.shape), str(array.dtype))


def convert(
    func: Any, params: dict[str, Any], blocksize: tuple[int, int], sparsity_threshold: float
) -> tuple[Any, dict[str, Any]]:
    """A function whose linear layers are sparse where their weights, in blocks, are zero to at least the threshold; and its
    parameters."""
    left = dict(params)
    body = _Converter(left, (blocksize[0], blocksize[1]), sparsity_threshold).visit(func.body)
    function = Function(free_vars(body), body, None, func.type_params)
    used = {param.name_hint for param in function.params}
    typed = transform.InferType()(IRModule.from_expr(function))["main"]
    return typed, {name: value for name, value in left.items() if name in used}
