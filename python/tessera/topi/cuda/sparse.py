"""Linear layers with sparse weights, by the names of v0.10's kernels for GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...te import Tensor
from .. import nn

__all__ = ["is_valid_for_sparse_dense_padded", "pad_sparse_matrix", "sparse_dense", "sparse_dense_padded"]

_WARP = 32


def sparse_dense(
    data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor, sparse_lhs: bool = False
) -> Tensor:
    """Linear layer of which one operand is sparse."""
    return nn.sparse_dense(data, weight_data, weight_indices, weight_indptr, sparse_lhs)


def sparse_dense_padded(
    data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor, sparse_lhs: bool = False
) -> Tensor:
    """The same for a weight of `pad_sparse_matrix`."""
    if sparse_lhs:
        raise ValueError("sparse_dense_padded has a sparse weight, not sparse data")
    return nn.sparse_dense(data, weight_data, weight_indices, weight_indptr)


def is_valid_for_sparse_dense_padded(data: Tensor, weight_data: Any) -> bool:
    """True where rows of data and blocks of the weight fill warps."""
    rows = 1 if len(weight_data.shape) == 1 else int(weight_data.shape[1])
    return int(data.shape[0]) % (_WARP // rows if rows < _WARP else 1) == 0


def pad_sparse_matrix(matrix: Any, blocksize: int) -> Any:
    """A matrix of SciPy (CSR or BSR) whose rows have a multiple of `blocksize` entries, the new ones zero."""
    data, indices, indptr = [], [], [0]
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:]):
        extra = -(end - begin) % blocksize
        zeros = np.zeros((extra, *matrix.data.shape[1:]), matrix.data.dtype)
        data.append(np.concatenate([matrix.data[begin:end], zeros]))
        indices.append(np.concatenate([matrix.indices[begin:end], np.zeros(extra, matrix.indices.dtype)]))
        indptr.append(indptr[-1] + end - begin + extra)
    parts = (np.concatenate(data), np.concatenate(indices), np.array(indptr, matrix.indptr.dtype))
    return type(matrix)(parts, shape=matrix.shape)
