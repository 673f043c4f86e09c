"""`argwhere` by the number of dimensions of its condition."""

from __future__ import annotations

from typing import Any

from ...te import Tensor
from ..transform import argwhere

__all__ = ["argwhere_1d", "argwhere_2d", "argwhere_3d", "argwhere_4d", "argwhere_5d"]


def _of_rank(rank: int, output_shape: Any, condition: Tensor) -> Tensor:
    if len(condition.shape) != rank:
        raise ValueError(f"the condition has {len(condition.shape)} dimensions, not {rank}")
    return argwhere(output_shape, condition)


def argwhere_1d(output_shape: Any, condition: Tensor) -> Tensor:
    """Of a vector."""
    return _of_rank(1, output_shape, condition)


def argwhere_2d(output_shape: Any, condition: Tensor) -> Tensor:
    """Of a matrix."""
    return _of_rank(2, output_shape, condition)


def argwhere_3d(output_shape: Any, condition: Tensor) -> Tensor:
    """Of three dimensions."""
    return _of_rank(3, output_shape, condition)


def argwhere_4d(output_shape: Any, condition: Tensor) -> Tensor:
    """Of four dimensions."""
    return _of_rank(4, output_shape, condition)


def argwhere_5d(output_shape: Any, condition: Tensor) -> Tensor:
    """Of five dimensions."""
    return _of_rank(5, output_shape, condition)
