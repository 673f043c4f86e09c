"""Space as channels or batch, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def space_to_depth_python(data: Any, block_size: int) -> np.ndarray:
    """NCHW; the elements of a block become channels."""
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * b * b, h // b, w // b)


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> np.ndarray:
    """NCHW; channels become blocks, which are the outer part of the channels ("DCR") or the inner one ("CRD")."""
    n, c, h, w = data.shape
    b = block_size
    if mode == "DCR":
        blocks = data.reshape(n, b, b, c // b // b, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = data.reshape(n, c // b // b, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, c // b // b, h * b, w * b)


def space_to_batch_nd_python(
    data: Any, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int], pad_value: float = 0
) -> np.ndarray:
    """The elements of blocks of the dimensions after the first become batches."""
    block = [int(b) for b in block_shape]
    m, rest = len(block), data.ndim - 1 - len(block)
    pads = [(int(a), int(b)) for a, b in zip(pad_before, pad_after)]
    x = np.pad(data, [(0, 0), *pads, *[(0, 0)] * rest], constant_values=pad_value)
    n, shape = x.shape[0], list(x.shape)
    split = [n]
    for i, b in enumerate(block):
        split += [shape[i + 1] // b, b]
    x = x.reshape(split + shape[m + 1 :])
    order = [2 * i + 2 for i in range(m)] + [0] + [2 * i + 1 for i in range(m)]
    x = x.transpose(order + list(range(2 * m + 1, x.ndim)))
    return x.reshape([n * int(np.prod(block)), *(shape[i + 1] // block[i] for i in range(m)), *shape[m + 1 :]])


def batch_to_space_nd_python(
    data: Any, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> np.ndarray:
    """The way back, cropped."""
    block = [int(b) for b in block_shape]
    m, shape = len(block), list(data.shape)
    n = shape[0] // int(np.prod(block))
    x = data.reshape([*block, n, *shape[1:]])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    x = x.transpose(order + list(range(2 * m + 1, x.ndim)))
    x = x.reshape([n, *(shape[i + 1] * block[i] for i in range(m)), *shape[m + 1 :]])
    crops = zip(x.shape[1:], crop_begin_list, crop_end_list)
    return x[(slice(None), *(slice(int(begin), extent - int(end)) for extent, begin, end in crops))]
