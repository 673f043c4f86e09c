"""Pools and their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .layouts import per_axis, spatial_axes

#: For each spatial dimension, for each window, the indices of its elements; those outside the data are padding.
Windows = list[list[list[int]]]


def windows(
    extents: Sequence[int],
    pool_size: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[tuple[int, int]],
    ceil_mode: bool,
) -> Windows:
    """The windows of each dimension."""
    out = []
    for extent, k, s, d, (before, after) in zip(extents, pool_size, strides, dilation, pads):
        room = extent + before + after - (k - 1) * d - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        out.append([[w * s - before + e * d for e in range(k)] for w in range(count)])
    return out


def pool(
    data: np.ndarray, axes: Sequence[int], taken: Windows, reduce: Callable[[np.ndarray, tuple[int, ...], int], Any]
) -> np.ndarray:
    """`reduce(elements inside the data, axes, elements with padding)` of each window."""
    shape = list(data.shape)
    for axis, p in zip(axes, taken):
        shape[axis] = len(p)
    out = np.zeros(shape, data.dtype)
    for at in itertools.product(*(range(len(p)) for p in taken)):
        index: list[Any] = [slice(None)] * data.ndim
        seen = data
        for axis, p, w in zip(axes, taken, at):
            index[axis] = w
            seen = np.take(seen, [e for e in p[w] if 0 <= e < data.shape[axis]], axis)
        out[tuple(index)] = reduce(seen, tuple(axes), int(np.prod([len(p[w]) for p, w in zip(taken, at)])))
    return out


def lowest(dtype: Any) -> Any:
    """What every value of a type is at least."""
    return -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min


def maximum(x: np.ndarray, axes: tuple[int, ...], size: int) -> Any:
    """For `pool`."""
    return x.max(axes, initial=lowest(x.dtype))


def mean(count_include_pad: bool) -> Callable[[np.ndarray, tuple[int, ...], int], Any]:
    """For `pool`; padding counts as zeros, or not at all."""

    def reduce(x: np.ndarray, axes: tuple[int, ...], size: int) -> Any:
        inside = int(np.prod([x.shape[axis] for axis in axes]))
        return x.sum(axes) / (size if count_include_pad else max(inside, 1))

    return reduce


def pool_grad(
    grad: np.ndarray,
    data: np.ndarray,
    axes: Sequence[int],
    taken: Windows,
    share: Callable[[np.ndarray, Any, list[tuple[int, ...]], int], None],
) -> np.ndarray:
    """`share(out, gradient of a window, its elements inside the data, elements with padding)` of each window."""
    out = np.zeros_like(data)
    others = [i for i in range(data.ndim) if i not in axes]
    for at in itertools.product(*(range(len(p)) for p in taken)):
        size = int(np.prod([len(p[w]) for p, w in zip(taken, at)]))
        for rest in itertools.product(*(range(data.shape[i]) for i in others)):
            index = [0] * data.ndim
            for i, r in zip(others, rest):
                index[i] = r
            elements = []
            for element in itertools.product(*(p[w] for p, w in zip(taken, at))):
                if all(0 <= e < data.shape[axis] for e, axis in zip(element, axes)):
                    for axis, e in zip(axes, element):
                        index[axis] = e
                    elements.append(tuple(index))
            for axis, w in zip(axes, at):
                index[axis] = w
            share(out, grad[tuple(index)], elements, size)
    return out


def adaptive(data: np.ndarray, axes: Sequence[int], size: Sequence[int], reduce: Callable[..., Any]) -> np.ndarray:
    """Each axis in as many nearly equal windows as `size` says."""
    taken = [
        [list(range(i * data.shape[axis] // n, -(-(i + 1) * data.shape[axis] // n))) for i in range(n)]
        for axis, n in zip(axes, size)
    ]
    return pool(data, axes, taken, lambda x, axes, _: reduce(x, axes))


# ---- as v0.10 calls them ---------------------------------------------------------------------------------------------


def poolnd_python(
    np_data: Any,
    kernel: Any,
    strides: Any,
    dilation: Any,
    padding_before: Any,
    padding_after: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> np.ndarray:
    """Maxima ("max") or means ("avg") of windows; without a layout batch and channels come first."""
    axes = list(range(2, np_data.ndim)) if layout is None else spatial_axes(layout)
    count = len(axes)
    taken = windows(
        [np_data.shape[axis] for axis in axes],
        per_axis(kernel, count),
        per_axis(strides, count),
        per_axis(dilation, count),
        list(zip(per_axis(padding_before, count), per_axis(padding_after, count))),
        ceil_mode,
    )
    return pool(np_data.astype(dtype), axes, taken, maximum if pool_type == "max" else mean(count_include_pad))


def adaptive_pool(np_data: Any, out_size: Any, pool_type: str, layout: str) -> np.ndarray:
    """Maxima or means, the result of `out_size`."""
    axes = spatial_axes(layout)
    return adaptive(np_data, axes, per_axis(out_size, len(axes)), np.max if pool_type == "max" else np.mean)


def adaptive_pool_channel_first(np_data: Any, out_size: Any, pool_op: Any, np_op: Any) -> np.ndarray:
    """The same by the NumPy function `np_op`, batch and channels first; `pool_op` is not used."""
    axes = list(range(2, np_data.ndim))
    return adaptive(np_data, axes, per_axis(out_size, len(axes)), np_op)


def adaptive_pool_channel_last(np_data: Any, out_size: Any, pool_op: Any, np_op: Any) -> np.ndarray:
    """The same, channels last."""
    axes = list(range(1, np_data.ndim - 1))
    return adaptive(np_data, axes, per_axis(out_size, len(axes)), np_op)


def pool_grad_nchw(
    a_np: Any,
    out_grad_np: Any,
    pool_size: Any,
    strides: Any,
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> np.ndarray:
    """The gradient of a pool; `padding` is top, left, bottom, right. The first of several maxima takes all."""
    pads = [(padding[0], padding[2]), (padding[1], padding[3])]
    taken = windows(a_np.shape[2:], per_axis(pool_size, 2), per_axis(strides, 2), [1, 1], pads, ceil_mode)

    def to_largest(out: np.ndarray, g: Any, elements: list[tuple[int, ...]], size: int) -> None:
        out[max(elements, key=lambda element: a_np[element])] += g

    def to_all(out: np.ndarray, g: Any, elements: list[tuple[int, ...]], size: int) -> None:
        for element in elements:
            out[element] += g / (size if count_include_pad else len(elements))

    return pool_grad(out_grad_np, a_np, [2, 3], taken, to_largest if pool_type == "max" else to_all)


def get_slice(
    spatial_dimensions: int, pad_np: Any, dim_coord: Any, kernel: Any, strides: Any, dilation: Any
) -> tuple[Any, ...]:
    """The window of one element of a pool, as an index into padded data whose batch and channels come first."""
    del pad_np
    out: list[Any] = [slice(None), slice(None)]
    for i in range(spatial_dimensions):
        begin = dim_coord[i] * strides[i]
        out.append(slice(begin, begin + (kernel[i] - 1) * dilation[i] + 1, dilation[i]))
    return tuple(out)


def pad_tensor(np_arr: Any, pad_value: Any, padding_before: Any, padding_after: Any, dtype: Any) -> np.ndarray:
    """An array with a border of one value around its spatial dimensions, which come after two others."""
    widths = [(0, 0), (0, 0), *zip(padding_before, padding_after)]
    return np.pad(np.asarray(np_arr), widths, constant_values=pad_value).astype(dtype)
