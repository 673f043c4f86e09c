"""Sparse matrices for tests and benchmarks."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .sketch_rules import (
    sparse_conv2d_apply_func,
    sparse_conv2d_meet_condition_func,
    sparse_dense_apply_func,
    sparse_dense_meet_condition_func,
    sparse_sketch_rules,
)

__all__ = [
    "convert_model_dense_to_sparse",
    "random_bsr_matrix",
    "random_sparse_conv2d_params",
    "random_sparse_dense_params",
    "sparse_conv2d_apply_func",
    "sparse_conv2d_meet_condition_func",
    "sparse_dense_apply_func",
    "sparse_dense_meet_condition_func",
    "sparse_sketch_rules",
]


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> Any:
    """A matrix of SciPy in blocks (bs_r, bs_c) of random numbers; `density` says what part of its elements is there."""
    sparse = importlib.import_module("scipy.sparse")
    rows, columns = m // bs_r, n // bs_c
    if m % bs_r or n % bs_c:
        raise ValueError(f"blocks of {bs_r} x {bs_c} do not tile a matrix of {m} x {n}")
    count = int(density * m * n) // (bs_r * bs_c) + 1
    chosen = np.sort(np.random.choice(rows * columns, min(count, rows * columns), replace=False))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(chosen // columns, minlength=rows))])
    data = np.random.randn(len(chosen), bs_r, bs_c).astype(dtype)
    return sparse.bsr_matrix((data, (chosen % columns).astype("int32"), indptr.astype("int32")), shape=(m, n))


def _random_params(func: Any, params: dict[str, Any], names: Any, weight_of: Any) -> dict[str, Any]:
    """The parameters with these replaced by random sparse ones."""
    from ...runtime import ndarray as nd

    del func
    out = dict(params)
    for name in names:
        value = params[name]
        out[name] = nd.array(weight_of(value.numpy() if hasattr(value, "numpy") else np.asarray(value)))
    return out


def random_sparse_dense_params(
    func: Any, params: dict[str, Any], bs_r: int, bs_c: int, density: float
) -> dict[str, Any]:
    """Parameters in which the weights of linear layers are random blocks, so many of which are there."""
    from ...relay.analysis.sparse_dense import weight_names

    def weight_of(value: np.ndarray) -> np.ndarray:
        matrix = random_bsr_matrix(value.shape[0], value.shape[1], bs_r, bs_c, density, str(value.dtype))
        return np.asarray(matrix.todense())

    return _random_params(func, params, [name for name in weight_names(func) if name in params], weight_of)


def random_sparse_conv2d_params(
    func: Any, params: dict[str, Any], bs_r: int, bs_c: int, density: float, layout: str
) -> dict[str, Any]:
    """The same for convolutions; the layout of the data says which way the weights lie: OIHW for NCHW, HWIO for NHWC."""
    from ...relay.analysis.sparse_conv2d import weight_names

    def weight_of(value: np.ndarray) -> np.ndarray:
        shape = value.shape
        if layout == "NCHW":
            matrix = random_bsr_matrix(shape[0], int(np.prod(shape[1:])), bs_r, bs_c, density, str(value.dtype))
            return np.asarray(matrix.todense()).reshape(shape)
        matrix = random_bsr_matrix(shape[3], int(np.prod(shape[:3])), bs_r, bs_c, density, str(value.dtype))
        return np.ascontiguousarray(np.asarray(matrix.todense()).T.reshape(shape))

    return _random_params(func, params, [name for name in weight_names(func) if name in params], weight_of)


def convert_model_dense_to_sparse(
    mod: Any,
    params: dict[str, Any],
    random_params: bool = False,
    bs_r: int = 1,
    bs_c: int = 1,
    sparsity: float = 0.85,
    layout: str = "NHWC",
) -> tuple[Any, dict[str, Any]]:
    """A model whose linear layers and 1x1 convolutions are sparse where their weights are zero often enough; with
    `random_params` the weights are made so first."""
    from ...ir import IRModule
    from ...relay.data_dep_optimization import bsr_conv2d, bsr_dense

    function = mod["main"] if isinstance(mod, IRModule) else mod
    if random_params:
        params = random_sparse_dense_params(function, params, bs_r, bs_c, 1 - sparsity)
        params = random_sparse_conv2d_params(function, params, bs_r, bs_c, 1 - sparsity, layout)
    threshold = sparsity - 0.1  # of weights made at random, blocks are not counted exactly
    function, params = bsr_dense.convert(function, params, (bs_r, bs_c), threshold)
    function, params = bsr_conv2d.convert(function, params, (bs_r, bs_c), threshold, layout)
    return IRModule.from_expr(function), params
