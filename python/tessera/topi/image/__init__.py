"""Operators on images as tensor expressions."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from .._records import call_record, const_tuple, result_type
from . import resize_indices
from .resize_indices import *

__all__ = [
    *resize_indices.__all__,
    "affine_grid",
    "crop_and_resize",
    "dilation2d_nchw",
    "dilation2d_nhwc",
    "grid_sample",
    "resize1d",
    "resize2d",
    "resize3d",
]


def _resize(spatial: int, default_layout: str) -> Any:
    def function(
        data: Tensor,
        roi: Any,
        size: Any,
        layout: str = default_layout,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: Any = None,
    ) -> Tensor:
        del output_shape
        attrs = {
            "size": size,
            "roi": [getattr(value, "value", value) for value in roi] if roi is not None else None,
            "layout": layout,
            "method": method,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "rounding_method": rounding_method,
            "cubic_alpha": bicubic_alpha,
            "cubic_exclude": bicubic_exclude,
            "extrapolation_value": extrapolation_value,
            "out_dtype": result_type(out_dtype),
        }
        return call_record(f"image.resize{spatial}d", [data], attrs)

    function.__name__ = function.__qualname__ = f"resize{spatial}d"
    function.__doc__ = "Images of another size, read between the elements."
    return function


resize1d, resize2d, resize3d = (_resize(n, layout) for n, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")))


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    """Boxes cropped from images, in one size."""
    attrs = {
        "crop_size": crop_size,
        "layout": layout,
        "method": method,
        "extrapolation_value": extrapolation_value or 0.0,
        "out_dtype": result_type(out_dtype),
    }
    return call_record("image.crop_and_resize", [data, boxes, box_indices], attrs)


def affine_grid(data: Tensor, target_shape: Any) -> Tensor:
    """Where the pixels of a target lie in an image, after an affine transformation."""
    return call_record("image.affine_grid", [data], {"target_shape": target_shape})


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """An image read at the positions of a grid."""
    attrs = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return call_record("image.grid_sample", [data, grid], attrs)


def _dilation2d(
    data: Tensor, weight: Tensor, stride: Any, padding: Any, dilations: Any, layouts: tuple[str, str], out_dtype: Any
) -> Tensor:
    from ..nn.conv import _kernel_reach
    from ..nn.utils import get_pad_tuple

    steps = const_tuple(dilations, 2)
    attrs = {
        "strides": const_tuple(stride, 2),
        "padding": get_pad_tuple(padding, _kernel_reach(weight, layouts[1], steps)),
        "dilations": steps,
        "data_layout": layouts[0],
        "kernel_layout": layouts[1],
        "out_dtype": result_type(out_dtype),
    }
    return call_record("image.dilation2d", [data, weight], attrs)


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: Any = None
) -> Tensor:
    """The greatest of (n, c, h, w) plus (c, h, w) over each window."""
    return _dilation2d(input, filter, stride, padding, dilations, ("NCHW", "IHW"), out_dtype)


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: Any = None
) -> Tensor:
    """The greatest of (n, h, w, c) plus (h, w, c) over each window."""
    return _dilation2d(input, filter, stride, padding, dilations, ("NHWC", "HWI"), out_dtype)
