"""Tensors of PyTorch and ours on the same memory."""

from __future__ import annotations

import torch
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
