"""Padding and strides: as users write them, and as shapes tell them."""

from __future__ import annotations

from typing import Any

from .._records import const_int
from ..utils import get_const_int

__all__ = [
    "get_pad_tuple",
    "get_pad_tuple1d",
    "get_pad_tuple3d",
    "get_pad_tuple_generic",
    "infer_pad",
    "infer_pad3d",
    "infer_stride",
]


def get_pad_tuple_generic(padding: Any, kernel: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(before, after) of each dimension: from one number, one per dimension, all of them, "VALID" or "SAME"."""
    sizes = [const_int(size) for size in kernel]
    count = len(sizes)
    if padding == "VALID":
        values = [0] * (2 * count)
    elif padding == "SAME":
        values = [size // 2 for size in sizes] + [(size - 1) // 2 for size in sizes]
    elif isinstance(padding, str):
        raise ValueError(f"padding is {padding}, but must be numbers, SAME or VALID")
    elif isinstance(padding, (list, tuple)) or hasattr(padding, "__len__"):
        values = [const_int(value) for value in padding]
        if len(values) == 1:
            values *= 2 * count
        elif len(values) == count:
            values += values
        elif len(values) != 2 * count:
            raise ValueError(f"padding of {count} dimensions has 1, {count} or {2 * count} values, got {len(values)}")
    else:
        values = [const_int(padding)] * (2 * count)
    return tuple(values[:count]), tuple(values[count:])


def get_pad_tuple(padding: Any, kernel: Any) -> tuple[int, ...]:
    """top, left, bottom, right."""
    before, after = get_pad_tuple_generic(padding, kernel)
    return before + after


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """left, right."""
    return get_pad_tuple(padding, kernel if hasattr(kernel, "__len__") else (kernel,))


def get_pad_tuple3d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """front, top, left, back, bottom, right."""
    return get_pad_tuple(padding, kernel)


def infer_pad(data: Any, data_pad: Any) -> tuple[int, int]:
    """Rows and columns on each side by which an NCHW tensor was padded; without padding none."""
    if data_pad is None:
        return 0, 0
    height, width = (get_const_int((data_pad.shape[i] - data.shape[i]) // 2) for i in (2, 3))
    return height, width


def infer_pad3d(data: Any, data_pad: Any, layout: str) -> tuple[int, int, int]:
    """Depth, rows and columns on each side by which an NCDHW or NDHWC tensor was padded."""
    if data_pad is None:
        return 0, 0, 0
    depth, height, width = (get_const_int((data_pad.shape[i] - data.shape[i]) // 2) for i in map(layout.index, "DHW"))
    return depth, height, width


def infer_stride(data: Any, kernel: Any, out: Any) -> tuple[int, int]:
    """The strides of a convolution of NCHW, of the shapes of its padded data, its kernel and its result."""
    shapes = [[get_const_int(x.shape[i]) for x in (data, kernel, out)] for i in (2, 3)]
    height, width = ((extent - k) // (n - 1) if n > 1 else extent - k + 1 for extent, k, n in shapes)
    return height, width
