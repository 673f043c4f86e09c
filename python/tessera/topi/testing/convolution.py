"""Convolutions. `padding` is a number, one or two for each axis, "SAME" or "VALID"."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..nn.utils import get_pad_tuple_generic
from .layouts import per_axis, to_plain

Pads = Sequence[tuple[int, int]]


def window(element: Sequence[int], dilation: Sequence[int], counts: Sequence[int], strides: Sequence[int]) -> tuple:
    """What one element of the filter sees of the padded data, over all results."""
    return tuple(slice(e * d, e * d + (c - 1) * s + 1, s) for e, d, c, s in zip(element, dilation, counts, strides))


def conv(
    data: Any, weight: Any, strides: Sequence[int], pads: Pads, dilation: Sequence[int], groups: int
) -> np.ndarray:
    """(n, c, ...) with (o, c / groups, ...); channel by channel also with (c, multiplier, ...)."""
    if groups > 1 and groups == data.shape[1] == weight.shape[0]:
        weight = weight.reshape((-1, 1, *weight.shape[2:]))
    data = np.pad(data, [(0, 0), (0, 0), *pads])
    counts = [
        (extent - (k - 1) * d - 1) // s + 1
        for extent, k, d, s in zip(data.shape[2:], weight.shape[2:], dilation, strides)
    ]
    n, o = data.shape[0], weight.shape[0]
    split = data.reshape(n, groups, data.shape[1] // groups, *data.shape[2:])
    filters = weight.reshape(groups, o // groups, *weight.shape[1:])
    out = np.zeros((n, groups, o // groups, *counts), np.result_type(data, weight))
    for element in np.ndindex(*weight.shape[2:]):
        seen = split[(..., *window(element, dilation, counts, strides))]
        out += np.einsum("ngi...,goi->ngo...", seen, filters[(..., *element)])
    return out.reshape(n, o, *counts)


def conv_transpose(
    data: Any,
    weight: Any,
    strides: Sequence[int],
    pads: Pads,
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> np.ndarray:
    """(n, c, ...) with (c, o / groups, ...): what `conv` would give back its input."""
    n, c = data.shape[:2]
    full = [
        (extent - 1) * s + (k - 1) * d + 1 + more
        for extent, k, d, s, more in zip(data.shape[2:], weight.shape[2:], dilation, strides, output_padding)
    ]
    out = np.zeros((n, groups, weight.shape[1], *full), np.result_type(data, weight))
    split = data.reshape(n, groups, c // groups, *data.shape[2:])
    filters = weight.reshape(groups, c // groups, *weight.shape[1:])
    for element in np.ndindex(*weight.shape[2:]):
        reached = (..., *window(element, dilation, data.shape[2:], strides))
        out[reached] += np.einsum("ngi...,gio->ngo...", split, filters[(..., *element)])
    out = out.reshape(n, -1, *full)
    inside: tuple[Any, ...] = (..., *(slice(before, extent - after) for (before, after), extent in zip(pads, full)))
    return out[inside]


def conv_backward_weight(
    grad: Any,
    data: Any,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    groups: int,
) -> np.ndarray:
    """The gradient of the weight, (o, c / groups, ...)."""
    data = np.pad(data, [(0, 0), (0, 0), *pads])
    n, o, c = grad.shape[0], grad.shape[1], data.shape[1]
    out = np.zeros((groups, o // groups, c // groups, *kernel_size), np.result_type(grad, data))
    grads = grad.reshape(n, groups, o // groups, *grad.shape[2:])
    split = data.reshape(n, groups, c // groups, *data.shape[2:])
    for element in itertools.product(*map(range, kernel_size)):
        seen = split[(..., *window(element, dilation, grad.shape[2:], strides))]
        at: tuple[Any, ...] = (..., *element)
        out[at] = np.einsum("ngoyx,ngiyx->goi", grads, seen)
    return out.reshape(o, c // groups, *kernel_size)


def _pads(padding: Any, kernel: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(*get_pad_tuple_generic(padding, kernel)))


def _conv(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1, dilation: Any = 1) -> np.ndarray:
    spatial = a_np.ndim - 2
    steps = per_axis(dilation, spatial)
    reach = [(k - 1) * d + 1 for k, d in zip(w_np.shape[2:], steps)]
    return conv(a_np, w_np, per_axis(stride, spatial), _pads(padding, reach), steps, groups)


def _conv_transpose(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> np.ndarray:
    spatial = a_np.ndim - 2
    pads, more = _pads(padding, w_np.shape[2:]), per_axis(output_padding, spatial)
    return conv_transpose(a_np, w_np, per_axis(stride, spatial), pads, more, [1] * spatial, groups)


def conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any) -> np.ndarray:
    """NCW with OIW."""
    return _conv(a_np, w_np, stride, padding, 1, dilation)


def group_conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray:
    """NCW with OIW, in groups of channels."""
    return _conv(a_np, w_np, stride, padding, groups, dilation)


def conv2d_nchw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> np.ndarray:
    """NCHW with OIHW."""
    return _conv(a_np, w_np, stride, padding, groups)


def conv2d_nhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> np.ndarray:
    """NHWC with HWIO."""
    data, weight = to_plain(a_np, "NHWC", "NCHW"), to_plain(w_np, "HWIO", "OIHW")
    return to_plain(_conv(data, weight, stride, padding, groups), "NCHW", "NHWC")


def conv2d_hwcn_python(a_np: Any, w_np: Any, stride: Any, padding: Any) -> np.ndarray:
    """HWCN with HWIO."""
    data, weight = to_plain(a_np, "HWCN", "NCHW"), to_plain(w_np, "HWIO", "OIHW")
    return to_plain(_conv(data, weight, stride, padding), "NCHW", "HWCN")


def conv3d_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> np.ndarray:
    """NCDHW with OIDHW."""
    return _conv(a_np, w_np, stride, padding, groups)


def conv3d_ndhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> np.ndarray:
    """NDHWC with DHWIO."""
    data, weight = to_plain(a_np, "NDHWC", "NCDHW"), to_plain(w_np, "DHWIO", "OIDHW")
    return to_plain(_conv(data, weight, stride, padding, groups), "NCDHW", "NDHWC")


def conv1d_transpose_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any) -> np.ndarray:
    """NCW with IOW."""
    return _conv_transpose(a_np, w_np, stride, padding, output_padding)


def conv2d_transpose_nchw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> np.ndarray:
    """NCHW with IOHW."""
    return _conv_transpose(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> np.ndarray:
    """NHWC with a weight of any order of H, W, I and O."""
    data, weight = to_plain(a_nhwc, "NHWC", "NCHW"), to_plain(weight, weight_format, "IOHW")
    return to_plain(_conv_transpose(data, weight, stride, padding, output_padding), "NCHW", "NHWC")


def conv3d_transpose_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any) -> np.ndarray:
    """NCDHW with IODHW."""
    return _conv_transpose(a_np, w_np, stride, padding, output_padding)


def conv2d_backward_weight_nchw_python(
    dy_np: Any,
    x_np: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    groups: int = 1,
    channels: int | None = None,
) -> np.ndarray:
    """The gradient of an OIHW weight."""
    if channels is not None and channels != dy_np.shape[1]:
        raise ValueError(f"the gradient has {dy_np.shape[1]} channels, not {channels}")
    size = per_axis(kernel_size, 2)
    return conv_backward_weight(dy_np, x_np, size, per_axis(stride, 2), _pads(padding, size), [1, 1], groups)


def conv2d_backward_weight_python(
    dy_np: Any,
    x_np: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    layout: str = "NCHW",
    groups: int = 1,
    channels: int | None = None,
) -> np.ndarray:
    """The gradient of an OIHW weight for NCHW, of an OHWI one for NHWC."""
    grad, data = to_plain(dy_np, layout, "NCHW"), to_plain(x_np, layout, "NCHW")
    out = conv2d_backward_weight_nchw_python(grad, data, kernel_size, stride, padding, groups, channels)
    return to_plain(out, "OIHW", "OHWI") if layout == "NHWC" else out


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> np.ndarray:
    """NCHW with (channels, multiplier, h, w)."""
    channels = input_np.shape[1]
    weight = filter_np.reshape(-1, 1, *filter_np.shape[2:])
    return _conv(input_np, weight, stride, padding, channels)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> np.ndarray:
    """NHWC with (h, w, channels, multiplier)."""
    out = depthwise_conv2d_python_nchw(
        to_plain(input_np, "NHWC", "NCHW"), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return to_plain(out, "NCHW", "NHWC")


def depthwise_conv2d_python_nchwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> np.ndarray:
    """NCHWc with (channels, multiplier, h, w, multiplier of a block, channel of a block)."""
    chunks, more_chunks, height, width, more, block = filter_np.shape
    weight = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(chunks * block, more_chunks * more, height, width)
    data = input_np.transpose(0, 1, 4, 2, 3).reshape(input_np.shape[0], -1, *input_np.shape[2:4])
    out = depthwise_conv2d_python_nchw(data, weight, stride, padding)
    return out.reshape(out.shape[0], -1, block, *out.shape[2:]).transpose(0, 1, 3, 4, 2)


def dilate_python(
    input_np: Any, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: str | None = None
) -> np.ndarray:
    """`strides - 1` values between neighbours of each dimension."""
    if len(strides) != input_np.ndim:
        raise ValueError(f"{len(strides)} strides for {input_np.ndim} dimensions")
    shape = [(n - 1) * s + 1 for n, s in zip(input_np.shape, strides)]
    out = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = input_np
    return out


def dilate_np(x: Any, dilation: int) -> np.ndarray:
    """`dilate_python` of the last dimension."""
    return dilate_python(x, [1] * (x.ndim - 1) + [dilation])
