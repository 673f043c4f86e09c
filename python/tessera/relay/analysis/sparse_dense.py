"""Linear layers whose weights are mostly zeros."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...ir import Op
from ...runtime import ndarray as nd
from ..expr import Call, Var
from ..expr_functor import ExprVisitor

__all__ = ["SparseAnalysisResult", "process_params", "weight_names"]


class SparseAnalysisResult(NamedTuple):
    """Names of weights that become sparse, and the shapes of their three parts, flat."""

    weight_name: Any
    weight_shape: Any


class _Weights(ExprVisitor):
    def __init__(self, op: str):
        super().__init__()
        self.op = op
        self.names: list[str] = []

    def visit_call(self, call: Call) -> None:
        if isinstance(call.op, Op) and call.op.name == self.op and isinstance(call.args[1], Var):
            self.names.append(str(call.args[1].name_hint))
        super().visit_call(call)


def weights_of(expr: Any, op: str) -> list[str]:
    """The names of variables that are the second argument of calls of an operator."""
    visitor = _Weights(op)
    visitor.visit(expr)
    return list(dict.fromkeys(visitor.names))


def weight_names(expr: Any) -> list[str]:
    """The weights of linear layers."""
    return weights_of(expr, "nn.dense")


def blocks_of(weight: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(data, indices, indptr) of the blocks of a matrix that are not zero; None where blocks do not tile it."""
    if weight.shape[0] % height or weight.shape[1] % width:
        return None
    tiles = weight.reshape(weight.shape[0] // height, height, -1, width).swapaxes(1, 2)
    is_used = tiles.any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(is_used.sum(1))]).astype("int32")
    data = np.ascontiguousarray(tiles[is_used])
    return (data if height * width > 1 else data.reshape(-1)), np.nonzero(is_used)[1].astype("int32"), indptr


def replace_params(
    params: dict[str, Any], names: list[str], matrix_of: Any, block_size: Any, threshold: float
) -> SparseAnalysisResult:
    """Replaces parameters that are sparse enough by `name.data`, `name.indices` and `name.indptr`."""
    found: list[str] = []
    shapes: list[Any] = []
    for name in names:
        if name not in params:
            continue
        value = params[name]
        matrix = matrix_of(value.numpy() if hasattr(value, "numpy") else np.asarray(value))
        parts = blocks_of(matrix, *block_size) if matrix is not None else None
        if parts is None or 1 - parts[0].size / matrix.size < threshold:
            continue
        del params[name]
        for end, part in zip(("data", "indices", "indptr"), parts):
            params[f"{name}.{end}"] = nd.array(part)
            shapes += list(part.shape)
        found.append(name)
    return SparseAnalysisResult(found, shapes)


def process_params(
    expr: Any, params: dict[str, Any], block_size: Any, sparsity_threshold: float
) -> SparseAnalysisResult:
    """Replaces the weights of linear layers that are zero to at least the threshold by their blocks, in `params`."""
    return replace_params(params, weight_names(expr), lambda weight: weight, block_size, sparsity_threshold)
