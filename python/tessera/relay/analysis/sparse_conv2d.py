"""Convolutions whose weights are mostly zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sparse_dense import SparseAnalysisResult, replace_params, weights_of

__all__ = ["matrix_of", "process_params", "weight_names"]


def weight_names(expr: Any) -> list[str]:
    """The weights of two-dimensional convolutions."""
    return weights_of(expr, "nn.conv2d")


def matrix_of(weight: np.ndarray, layout: str, kernel_size: int) -> np.ndarray | None:
    """A weight (OIHW for NCHW data, HWIO for NHWC) as the matrix (out, k) that `nn.sparse_conv2d` takes."""
    size = weight.shape[2:] if layout == "NCHW" else weight.shape[:2]
    if weight.ndim != 4 or tuple(size) != (kernel_size, kernel_size):
        return None
    if layout == "NCHW":
        return weight.reshape(weight.shape[0], -1)
    return np.ascontiguousarray(weight.reshape(-1, weight.shape[3]).T)


def process_params(
    expr: Any,
    params: dict[str, Any],
    block_size: Any,
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
    reg_task_input: bool = True,
) -> SparseAnalysisResult:
    """Replaces the weights of convolutions that are zero to at least the threshold by their blocks, in `params`."""
    del reg_task_input  # tuners keep no inputs
    return replace_params(
        params,
        weight_names(expr),
        lambda weight: matrix_of(weight, layout, kernel_size),
        block_size,
        sparsity_threshold,
    )
