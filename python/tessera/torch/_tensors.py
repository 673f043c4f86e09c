"""Tensors of PyTorch and ours on the same memory, and the strides that PyTorch counts on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils.dlpack import from_dlpack as _torch_from_dlpack

from ..runtime.ndarray import NDArray, from_dlpack


def ndarray_of(tensor: torch.Tensor) -> NDArray:
    """The tensor as ours on the same memory; one with gaps, or not at a multiple of its element size, is copied."""
    data = tensor.detach()
    if data.is_neg() or data.is_conj():
        data = data.resolve_neg().resolve_conj()
    data = data.contiguous()
    if data.data_ptr() % data.element_size():
        data = data.clone()
    return from_dlpack(data.__dlpack__())


def torch_of(array: NDArray) -> torch.Tensor:
    """The tensor as PyTorch's on the same memory."""
    return _torch_from_dlpack(array.to_dlpack())


def dense_order(shape: Sequence[Any], strides: Sequence[Any]) -> list[int] | None:
    """Dimensions from the outermost to the innermost in memory, where elements lie without gaps; otherwise None.

    (2, 3, 4, 5) of strides (60, 1, 15, 3), channels last, gives [0, 2, 3, 1].
    """
    dims = list(range(len(shape)))
    if _is_dense(dims, shape, strides) or any(_equal(extent, 0) for extent in shape):
        return dims
    hints = [_hint(stride) for stride in strides]
    if None in hints:
        return None
    dims.sort(key=lambda dim: -(hints[dim] or 0))
    return dims if _is_dense(dims, shape, strides) else None


def _is_dense(dims: Sequence[int], shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    expected: Any = 1
    for dim in reversed(dims):
        if not _equal(shape[dim], 1) and not _equal(strides[dim], expected):
            return False
        expected = expected * shape[dim]
    return True


def _hint(number: Any) -> int | None:
    """The number, of a symbolic one that of the example."""
    node = getattr(number, "node", None)
    return int(number) if node is None else node.hint


def _equal(a: Any, b: Any) -> bool:
    """True for extents that are known to be equal, without a guard."""
    return bool(statically_known_true(a == b))


def inverse(order: Sequence[int]) -> list[int]:
    """The permutation that takes `order` back."""
    return sorted(range(len(order)), key=order.__getitem__)
