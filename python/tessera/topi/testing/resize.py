"""Resampling of images: resize, crop, grids."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .layouts import from_plain, spatial_axes, to_plain


def coordinate(mode: str, x: int, old: int, new: int, begin: float = 0.0, end: float = 1.0) -> float:
    """Where the element `x` of `new` lies among `old`."""
    scale = old / new
    if mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if mode == "align_corners":
        return x * ((old - 1) / (new - 1)) if new > 1 else 0.0
    if mode == "asymmetric":
        return x * scale
    if mode == "pytorch_half_pixel":
        return (x + 0.5) * scale - 0.5 if new > 1 else 0.0
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    if mode != "tf_crop_and_resize":
        raise ValueError(f"there is no coordinate_transformation_mode {mode!r}")
    if new > 1:
        return begin * (old - 1) + x * (end - begin) * (old - 1) / (new - 1)
    return 0.5 * (begin + end) * (old - 1)


def _nearest(position: float, rounding: str) -> float:
    return {
        "round": lambda: np.sign(position) * np.floor(abs(position) + 0.5),
        "round_prefer_floor": lambda: np.ceil(position - 0.5),
        "round_prefer_ceil": lambda: np.floor(position + 0.5),
        "floor": lambda: np.floor(position + 1e-5),
        "ceil": lambda: np.ceil(position - 1e-5),
    }[rounding]()


def cubic(t: float, a: float) -> list[float]:
    """Weights of the four neighbours of a position `t` after the second of them."""

    def weight(d: float) -> float:
        d = abs(d)
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0

    return [weight(t + 1), weight(t), weight(1 - t), weight(2 - t)]


def _weights(
    method: str, position: float, old: int, rounding: str, alpha: float, exclude: bool
) -> list[tuple[int, float]]:
    """(index, weight) of what makes up the value at a position of one dimension."""
    whole = int(np.floor(position))
    t = position - whole
    if method == "nearest_neighbor":
        taken = [(int(_nearest(position, rounding)), 1.0)]
    elif method == "linear":
        taken = [(whole, 1 - t), (whole + 1, t)]
    else:
        taken = list(zip(range(whole - 1, whole + 3), cubic(t, alpha)))
        if exclude:
            taken = [(i, w if 0 <= i < old else 0.0) for i, w in taken]
            total = sum(w for _, w in taken)
            taken = [(i, w / total) for i, w in taken]
    return [(min(max(i, 0), old - 1), w) for i, w in taken]


def resize(
    x: np.ndarray,
    axes: Sequence[int],
    size: Sequence[int],
    method: str,
    mode: str,
    rounding: str = "",
    alpha: float = -0.5,
    exclude: bool = False,
    roi: Sequence[float] | None = None,
    outside: float = 0.0,
) -> np.ndarray:
    """Axis by axis: every method is a product of one-dimensional ones. `roi` is begin and end of each axis, 0 to 1."""
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    region = list(roi) if roi is not None else [0.0] * len(axes) + [1.0] * len(axes)
    is_outside = np.zeros(x.shape, bool)
    for i, (axis, new) in enumerate(zip(axes, size)):
        old = x.shape[axis]
        rows, mask = np.zeros((new, old)), np.zeros(new, bool)
        for at in range(new):
            position = coordinate(mode, at, old, new, region[i], region[i + len(axes)])
            mask[at] = mode == "tf_crop_and_resize" and (position < 0 or position > old - 1)
            for index, weight in _weights(method, position, old, rounding, alpha, exclude):
                rows[at, index] += weight
        x = np.moveaxis(np.tensordot(rows, np.moveaxis(x, axis, 0), 1), 0, axis)
        shape = [1] * x.ndim
        shape[axis] = new
        is_outside = np.take(is_outside, [0] * new, axis) | mask.reshape(shape)
    return np.where(is_outside, outside, x)


def _scaled(data: Any, scale: Any, layout: str, method: str, mode: str) -> np.ndarray:
    axes = spatial_axes(layout)
    size = [round(data.shape[axis] * s) for axis, s in zip(axes, scale)]
    return resize(data.astype("float64"), axes, size, re.sub("^(bi|tri)", "", method), mode).astype(data.dtype)


def resize1d_python(
    data: Any,
    scale: Any,
    layout: str = "NCW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """By a scale of the width; `method` is nearest_neighbor, linear or cubic."""
    return _scaled(data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: Any,
    scale: Any,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """By scales of height and width."""
    return _scaled(data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: Any,
    scale: Any,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """By scales of depth, height and width."""
    return _scaled(data, scale, layout, method, coordinate_transformation_mode)


def crop_and_resize_python(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Sequence[int],
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> np.ndarray:
    """Boxes (y1, x1, y2, x2 between 0 and 1) of images, each resized to `crop_size`."""
    x = to_plain(image, layout, "NCHW").astype("float64")
    size, kind = [int(n) for n in crop_size], re.sub("^bi", "", method)
    out = np.zeros((len(boxes), x.shape[1], *size))
    for i, (box, index) in enumerate(zip(boxes, box_indices)):
        out[i] = resize(
            x[index], (1, 2), size, kind, "tf_crop_and_resize", "round", roi=box, outside=extrapolation_value
        )
    return from_plain(out, "NCHW", layout).astype(image.dtype)


# ---- grids -----------------------------------------------------------------------------------------------------------


def affine_grid_python(data: Any, target_shape: Sequence[int]) -> np.ndarray:
    """(n, 2, h, w) of (n, 2, 3) matrices over the square from -1 to 1."""
    height, width = (int(n) for n in target_shape)
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    return np.einsum("ndk,khw->ndhw", data, np.stack([x, y, np.ones_like(x)])).astype(data.dtype)


def _inside(position: float, extent: int, mode: str, align_corners: bool) -> float:
    if mode == "reflection":
        low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
        while not low <= position <= high:
            position = 2 * low - position if position < low else 2 * high - position
    return position if mode == "zeros" else min(max(position, 0), extent - 1)


def _samples(position: float, extent: int, method: str, mode: str, align_corners: bool) -> list[tuple[int, float]]:
    position = (position + 1) * (extent - 1) / 2 if align_corners else (position + 1) * extent / 2 - 0.5
    if method == "bicubic":
        whole = int(np.floor(position))
        weights = enumerate(cubic(position - whole, -0.75))
        return [(int(_inside(whole - 1 + k, extent, mode, align_corners)), w) for k, w in weights]
    position = _inside(position, extent, mode, align_corners)
    whole = int(np.floor(position))
    if method == "nearest":
        return [(round(position), 1.0)]
    return [(whole, 1 - (position - whole)), (whole + 1, position - whole)]


def grid_sample_python(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> np.ndarray:
    """NCHW or NCDHW data at the positions of a grid (n, 2 or 3, ...), whose coordinates x, y (, z) go from -1 to 1."""
    if layout not in ("NCHW", "NCDHW"):
        raise ValueError(f"the layout is NCHW or NCDHW, not {layout}")
    spatial = data.ndim - 2
    out = np.zeros((*data.shape[:2], *grid.shape[2:]), "float64")
    for n in range(data.shape[0]):
        for at in np.ndindex(grid.shape[2:]):
            samples = [
                _samples(float(grid[(n, spatial - 1 - i, *at)]), extent, method, padding_mode, align_corners)
                for i, extent in enumerate(data.shape[2:])
            ]
            for combination in itertools.product(*samples):
                index = tuple(i for i, _ in combination)
                if all(0 <= i < extent for i, extent in zip(index, data.shape[2:])):
                    to: tuple[Any, ...] = (n, slice(None), *at)
                    out[to] += data[(n, slice(None), *index)] * np.prod([w for _, w in combination])
    return out.astype(data.dtype)


grid_sample_2d = grid_sample_python


def grid_sample_3d(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCDHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> np.ndarray:
    """`grid_sample_python` of NCDHW."""
    return grid_sample_python(data, grid, method, layout, padding_mode, align_corners)


def get_inx(x: int, image_width: int, target_width: int, coordinate_transformation_mode: str) -> float:
    """Where an element of the result lies in the image."""
    return coordinate(coordinate_transformation_mode, x, image_width, target_width)


def get_index(x: int, image_width: int, target_width: int, coordinate_transformation_mode: str) -> int:
    """The index of the element that is nearest to that."""
    rounding = "round" if coordinate_transformation_mode == "align_corners" else "floor"
    position = _nearest(get_inx(x, image_width, target_width, coordinate_transformation_mode), rounding)
    return int(min(max(position, 0), image_width - 1))


def _volume(data: Any, scale: Any, method: str, mode: str) -> np.ndarray:
    """A volume (depth, height, width) by scales."""
    size = [round(extent * factor) for extent, factor in zip(data.shape, scale)]
    return resize(np.asarray(data, "float64"), (0, 1, 2), size, method, mode).astype(data.dtype)


def resize3d_nearest(arr: Any, scale: Any, coordinate_transformation_mode: str) -> np.ndarray:
    """A volume by the nearest elements."""
    return _volume(arr, scale, "nearest_neighbor", coordinate_transformation_mode)


def resize3d_linear(data_in: Any, scale: Any, coordinate_transformation_mode: str) -> np.ndarray:
    """A volume by linear interpolation."""
    return _volume(data_in, scale, "linear", coordinate_transformation_mode)


def resize3d_cubic(data_in: Any, scale: Any, coordinate_transformation_mode: str) -> np.ndarray:
    """A volume by cubic interpolation."""
    return _volume(data_in, scale, "cubic", coordinate_transformation_mode)


def resize3d_ncdhw(
    data: Any,
    scale: Any,
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Volumes in NCDHW by scales of depth, height and width."""
    return resize3d_python(data, scale, "NCDHW", method, coordinate_transformation_mode)
