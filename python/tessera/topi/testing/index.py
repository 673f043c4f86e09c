"""What picks and places elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def gather_python(data: Any, axis: int, indices: Any) -> np.ndarray:
    """out[i, j] = data[indices[i, j], j], along `axis`."""
    return np.take_along_axis(data, indices, axis)


def gather_nd_python(a_np: Any, indices_np: Any) -> np.ndarray:
    """The first dimension of the indices tells the index of each of the first dimensions of the data."""
    return a_np[tuple(indices_np.astype("int64"))]


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> np.ndarray:
    """`on_value` where the new axis is at the index."""
    hot = np.asarray(indices)[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hot, on_value, off_value), -1, axis).astype(dtype)


def sequence_mask(data: Any, valid_length: Any, mask_value: Any, axis: int) -> np.ndarray:
    """`mask_value` after the valid length of each sequence; the axis of time is 0 or 1, that of the batch the other."""
    steps = np.arange(data.shape[axis])
    keep = steps[:, None] < valid_length[None] if axis == 0 else steps[None] < valid_length[:, None]
    return np.where(keep.reshape(keep.shape + (1,) * (data.ndim - 2)), data, data.dtype.type(mask_value))


def matrix_set_diag(input_np: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> np.ndarray:
    """The diagonals from k[0] to k[1] replaced; `align` says on which side shorter ones (above, below) lie."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    above, below = align.split("_")
    out = np.array(input_np)
    rows, columns = out.shape[-2:]
    for d in range(low, high + 1):
        length = min(rows + min(d, 0), columns - max(d, 0))
        values = diagonal if low == high else diagonal[..., high - d, :]
        first = values.shape[-1] - length if (above if d >= 0 else below) == "RIGHT" else 0
        for i in range(length):
            out[..., i - min(d, 0), i + max(d, 0)] = values[..., first + i]
    return out


def slice_axis_python(data: Any, axis: int, begin: int, end: int | None = None) -> np.ndarray:
    """data[..., begin:end, ...]."""
    index = [slice(None)] * data.ndim
    index[axis] = slice(begin, end)
    return data[tuple(index)]


def slices(
    shape: Sequence[int],
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int],
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> tuple[slice, ...]:
    """Of a strided slice; in the mode "size" `end` are extents, a negative one reaches to the end."""
    out = [slice(None)] * len(shape)
    for i, axis in enumerate(range(len(begin)) if axes is None else axes):
        n, first = shape[axis], begin[i]
        last = end[i] if i < len(end) else None
        if slice_mode == "size":
            first = min(max(first + n if first < 0 else first, 0), n)
            out[axis] = slice(first, n if last is None or last < 0 else first + last)
            continue
        stride = strides[i] if i < len(strides) else 1
        # Before the first element, where a negative step ends, is no index of Python's.
        out[axis] = slice(first, None if last is not None and stride < 0 and last < -n else last, stride)
    return tuple(out)


def _ints(values: Any) -> list[Any]:
    return [] if values is None else [None if v is None else int(v) for v in values]


def strided_slice_python(
    data: Any, begin: Any, end: Any, strides: Any, slice_mode: str = "end", axes: Any = None
) -> np.ndarray:
    """data[begin:end:strides], over all axes or the given ones."""
    of_axes = None if axes is None else _ints(axes)
    return data[slices(data.shape, _ints(begin), _ints(end), _ints(strides), slice_mode, of_axes)]


def strided_set_python(data: Any, v: Any, begin: Any, end: Any, strides: Any) -> np.ndarray:
    """A copy with data[begin:end:strides] = v."""
    out = np.array(data)
    out[slices(data.shape, _ints(begin), _ints(end), _ints(strides))] = v
    return out


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: str) -> np.ndarray:
    """Where values belong in sorted rows: one row for all of them, or one for each of theirs."""
    rows = values.reshape(-1, values.shape[-1])
    sorted_rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    if len(sorted_rows) == 1:
        sorted_rows = np.repeat(sorted_rows, len(rows), 0)
    found = [np.searchsorted(known, row, "right" if right else "left") for known, row in zip(sorted_rows, rows)]
    return np.array(found, out_dtype).reshape(values.shape)
