"""Winograd convolutions: the weight in the domain of tiles, and the convolution with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ...te import Tensor
from .. import _ffi_api
from .._records import call_record, const_tuple, result_type
from ..utils import const_matrix, get_const_tuple
from .conv import conv2d_nchw, conv2d_nhwc
from .utils import get_pad_tuple

__all__ = [
    "conv2d_winograd_nchw",
    "conv2d_winograd_nhwc",
    "conv2d_winograd_nhwc_without_weight_transform",
    "conv2d_winograd_weight_transform",
    "conv3d_winograd_weight_transform",
    "winograd_transform_matrices",
]

#: Points at which the polynomials of a tile are evaluated; the last one is infinity.
_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 4.0, -4.0, 0.25, -0.25)


def _matrices(tile: int, kernel_size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (alpha, tile), B (alpha, alpha) and G (alpha, kernel_size) by Cook and Toom: out = A' ((G g) * (B' d)).

    Points are those above, or for more of them Chebyshev's.
    """
    alpha = tile + kernel_size - 1
    points = np.array(
        _POINTS[: alpha - 1]
        if alpha - 1 <= len(_POINTS)
        else np.cos(np.pi * (np.arange(alpha - 1) + 0.5) / (alpha - 1))
    )
    vandermonde = np.vander(points, alpha, increasing=True)
    evaluate = np.vstack([vandermonde, [0.0] * (alpha - 1) + [1.0]])
    a = evaluate[:, :tile].copy()
    a[-1] = [0.0] * (tile - 1) + [1.0]
    weights = np.array([np.prod([p - q for j, q in enumerate(points) if j != i]) for i, p in enumerate(points)])
    g = np.vstack(
        [np.vander(points, kernel_size, increasing=True) / weights[:, None], [0.0] * (kernel_size - 1) + [1.0]]
    )
    # Rows of B': the polynomials that vanish at all points but one, and the one that vanishes at all of them.
    rows = []
    for i in range(alpha - 1):
        rows.append(np.poly(np.delete(points, i))[::-1])
    b = np.zeros((alpha, alpha))
    for i, row in enumerate(rows):
        b[: len(row), i] = row
    b[:, -1] = np.poly(points)[::-1]
    return a, b, g


def winograd_transform_matrices(tile_size: int, kernel_size: int, out_dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """A, B and G of F(tile_size, kernel_size) as tensors of constants."""
    a, b, g = (matrix.astype(out_dtype) for matrix in _matrices(tile_size, kernel_size))
    return const_matrix(a, "A"), const_matrix(b, "B"), const_matrix(g, "G")


def conv2d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """A weight (o, i, h, h) as (alpha, alpha, i, o)."""
    name = "nn.contrib_conv2d_winograd_weight_transform"
    return call_record(name, [kernel], {"tile_size": tile_size})


def conv3d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """A weight (o, i, d, h, h) as (alpha, alpha, alpha, o, i), or (d, alpha, alpha, o, i) where d is not h."""
    out_channels, in_channels, depth, height, width = get_const_tuple(kernel.shape)
    if height != width:
        raise ValueError(f"Winograd needs kernels of one height and width, got {height} and {width}")
    kernel_size, alpha = height, tile_size + height - 1
    _, _, g = winograd_transform_matrices(tile_size, kernel_size, kernel.dtype)
    kh = te.reduce_axis((0, kernel_size), name="r_kh")
    kw = te.reduce_axis((0, kernel_size), name="r_kw")
    if depth != height:
        return te.compute(
            (depth, alpha, alpha, out_channels, in_channels),
            lambda d, y, x, o, i: te.sum(kernel[o, i, d, kh, kw] * g[y, kh] * g[x, kw], axis=[kh, kw]),
            name="transform_weight",
        )
    kd = te.reduce_axis((0, kernel_size), name="r_kd")
    return te.compute(
        (alpha, alpha, alpha, out_channels, in_channels),
        lambda z, y, x, o, i: te.sum(kernel[o, i, kd, kh, kw] * g[z, kd] * g[y, kh] * g[x, kw], axis=[kd, kh, kw]),
        name="transform_weight",
    )


def _transformed(data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any) -> Tensor:
    """The convolution of (n, c, h, w) with a transformed 3x3 weight (alpha, alpha, c, o)."""
    alpha = get_const_tuple(weight.shape)[0]
    attrs = {
        "tile_size": alpha - 2,
        "strides": const_tuple(strides, 2),
        "padding": get_pad_tuple(padding, (3, 3)),
        "dilation": const_tuple(dilation, 2),
        "channels": get_const_tuple(weight.shape)[3],
        "kernel_size": (3, 3),
        "out_dtype": result_type(out_dtype),
    }
    return call_record("nn.contrib_conv2d_winograd_without_weight_transform", [data, weight], attrs)


def conv2d_winograd_nchw(
    data: Tensor,
    weight: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any,
    pre_computed: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Convolution of (n, c, h, w); a weight that is `pre_computed` is (alpha, alpha, c, o)."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    if pre_computed:
        return _transformed(data, weight, strides, padding, dilation, out_dtype)
    return conv2d_nchw(data, weight, strides, padding, dilation, out_dtype)


def conv2d_winograd_nhwc(
    data: Tensor,
    weight: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any,
    pre_computed: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Convolution of (n, h, w, c); a weight that is `pre_computed` is (alpha, alpha, c, o)."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    if not pre_computed:
        return conv2d_nhwc(data, weight, strides, padding, dilation, out_dtype)
    planes = _ffi_api.transpose(data, [0, 3, 1, 2])
    return _ffi_api.transpose(_transformed(planes, weight, strides, padding, dilation, out_dtype), [0, 2, 3, 1])


def conv2d_winograd_nhwc_without_weight_transform(
    data: Tensor,
    weight: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Convolution of (n, h, w, c) with a transformed weight (alpha, alpha, c, o)."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    return conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, True)
