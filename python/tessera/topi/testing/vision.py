"""Regions, deformable convolutions, correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..nn.utils import get_pad_tuple
from .layouts import per_axis, to_plain


def _bilinear(image: np.ndarray, y: float, x: float) -> float:
    height, width = image.shape
    if y < -1 or x < -1 or y > height or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    ty, tx = y - y0, x - x0
    top = image[y0, x0] * (1 - tx) + image[y0, x1] * tx
    return top * (1 - ty) + (image[y1, x0] * (1 - tx) + image[y1, x1] * tx) * ty


def roi_align_nchw_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
) -> np.ndarray:
    """Regions (batch, x1, y1, x2, y2), each sampled `sample_ratio` squared times a bin (0: as its size wants)."""
    height, width = per_axis(pooled_size, 2)
    takes_max = mode in (b"max", "max")
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for i, (image, *corners) in enumerate(rois_np):
        x1, y1, x2, y2 = (c * spatial_scale for c in corners)
        bin_h, bin_w = max(y2 - y1, 1.0) / height, max(x2 - x1, 1.0) / width
        n_h = sample_ratio if sample_ratio > 0 else math.ceil(bin_h)
        n_w = sample_ratio if sample_ratio > 0 else math.ceil(bin_w)
        for c, py, px in np.ndindex(out.shape[1:]):
            samples = [
                _bilinear(
                    a_np[int(image), c], y1 + (py + (sy + 0.5) / n_h) * bin_h, x1 + (px + (sx + 0.5) / n_w) * bin_w
                )
                for sy in range(n_h)
                for sx in range(n_w)
            ]
            out[i, c, py, px] = max(samples) if takes_max else sum(samples) / len(samples)
    return out


def roi_align_nhwc_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
) -> np.ndarray:
    """The same of NHWC."""
    data = to_plain(a_np, "NHWC", "NCHW")
    return to_plain(
        roi_align_nchw_python(data, rois_np, pooled_size, spatial_scale, sample_ratio, mode), "NCHW", "NHWC"
    )


def _half_up(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> np.ndarray:
    """The maxima of the bins of regions (batch, x1, y1, x2, y2), in whole elements."""
    height, width = per_axis(pooled_size, 2)
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for i, (image, *corners) in enumerate(rois_np):
        x1, y1, x2, y2 = (_half_up(c * spatial_scale) for c in corners)
        bin_h, bin_w = max(y2 - y1 + 1, 1) / height, max(x2 - x1 + 1, 1) / width
        for py, px in np.ndindex(height, width):
            rows = [math.floor(py * bin_h + 1e-5) + y1, math.ceil((py + 1) * bin_h - 1e-5) + y1]
            columns = [math.floor(px * bin_w + 1e-5) + x1, math.ceil((px + 1) * bin_w - 1e-5) + x1]
            r, c = np.clip(rows, 0, a_np.shape[2]), np.clip(columns, 0, a_np.shape[3])
            patch = a_np[int(image), :, r[0] : r[1], c[0] : c[1]]
            out[i, :, py, px] = patch.max((1, 2)) if patch.size else 0
    return out


def reorg_python(a_np: Any, stride: int) -> np.ndarray:
    """Darknet's reorganisation of NCHW: its result has stride ** 2 times the channels."""
    batch, channels, height, width = a_np.shape
    out_c, flat = channels // (stride * stride), a_np.reshape(-1)
    out = []
    for b, k, j, i in np.ndindex(a_np.shape):
        x, y = i * stride + (k // out_c) % stride, j * stride + (k // out_c) // stride
        out.append(flat[x + width * stride * (y + height * stride * (k % out_c + out_c * b))])
    shape = (batch, channels * stride * stride, height // stride, width // stride)
    return np.array(out, a_np.dtype).reshape(shape)


def deformable_conv2d_nchw_python(
    a_np: Any,
    offset_np: Any,
    w_np: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
) -> np.ndarray:
    """A convolution of NCHW with OIHW whose filter elements are moved by the offsets."""
    strides, steps = per_axis(stride, 2), per_axis(dilation, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(w_np.shape[2:], steps)]
    top, left, _, _ = get_pad_tuple(padding, reach)
    n, channels, height, width = a_np.shape
    taken = np.zeros((n, channels, *w_np.shape[2:], *offset_np.shape[2:]), "float64")
    for at in np.ndindex(taken.shape):
        b, c, ky, kx, oy, ox = at
        part = c // (channels // deformable_groups)
        first = (part * w_np.shape[2] * w_np.shape[3] + ky * w_np.shape[3] + kx) * 2
        y = oy * strides[0] - top + ky * steps[0] + offset_np[b, first, oy, ox]
        x = ox * strides[1] - left + kx * steps[1] + offset_np[b, first + 1, oy, ox]
        if y < 0 or x < 0 or y >= height or x >= width:
            continue
        for i, wy in ((int(y), 1 - y % 1), (int(y) + 1, y % 1)):
            for j, wx in ((int(x), 1 - x % 1), (int(x) + 1, x % 1)):
                if i < height and j < width:
                    taken[at] += wy * wx * a_np[b, c, i, j]
    split = taken.reshape(n, groups, channels // groups, *taken.shape[2:])
    filters = w_np.reshape(groups, w_np.shape[0] // groups, *w_np.shape[1:])
    out = np.einsum("ngiabyx,goiab->ngoyx", split, filters)
    return out.reshape(n, w_np.shape[0], *offset_np.shape[2:]).astype(a_np.dtype)


def deformable_conv2d_nhwc_python(
    a_np: Any,
    offset_np: Any,
    w_np: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
) -> np.ndarray:
    """The same of NHWC with HWIO."""
    data, offset = to_plain(a_np, "NHWC", "NCHW"), to_plain(offset_np, "NHWC", "NCHW")
    weight = to_plain(w_np, "HWIO", "OIHW")
    out = deformable_conv2d_nchw_python(data, offset, weight, stride, padding, dilation, deformable_groups, groups)
    return to_plain(out, "NCHW", "NHWC")


def correlation_nchw_python(
    data1: Any,
    data2: Any,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: int | Sequence[int],
    is_multiply: bool,
) -> np.ndarray:
    """The mean product (or difference) of patches of two images, by displacement."""
    top, left, bottom, right = get_pad_tuple(padding, (1, 1))
    pads = [(0, 0), (0, 0), (top, bottom), (left, right)]
    a, b = np.pad(data1, pads), np.pad(data2, pads)
    radius = max_displacement // stride2
    border = max_displacement + kernel_size // 2
    height, width = (-(-(extent - 2 * border) // stride1) for extent in a.shape[2:])
    out = np.zeros((a.shape[0], (2 * radius + 1) ** 2, height, width), a.dtype)
    for n, q, i, j in np.ndindex(out.shape):
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        v = y + (q // (2 * radius + 1) - radius) * stride2
        u = x + (q % (2 * radius + 1) - radius) * stride2
        p = a[n, :, y : y + kernel_size, x : x + kernel_size]
        r = b[n, :, v : v + kernel_size, u : u + kernel_size]
        out[n, q, i, j] = (p * r if is_multiply else abs(p - r)).mean()
    return out
