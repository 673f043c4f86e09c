"""Operators on images; signatures are v0.10's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...expr import Call, Expr, const
from .._make import call_op, int_tuple
from ..nn.conv import window_attrs
from ..nn.nn import number_of

__all__ = [
    "affine_grid",
    "crop_and_resize",
    "dilation2d",
    "grid_sample",
    "resize1d",
    "resize2d",
    "resize3d",
]


def _resize(spatial: int, default_layout: str) -> Callable[..., Call]:
    name = f"resize{spatial}d"

    def function(
        data: Expr,
        size: Any,
        roi: Any = None,
        layout: str = default_layout,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        cubic_alpha: float = -0.5,
        cubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
    ) -> Call:
        size, roi = number_of(size), number_of(roi)
        attrs: dict[str, Any] = {
            "layout": layout,
            "method": method,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "rounding_method": rounding_method,
            "cubic_alpha": cubic_alpha,
            "cubic_exclude": cubic_exclude,
            "extrapolation_value": extrapolation_value,
            "out_dtype": out_dtype or "",
        }
        roi = (0.0,) * (2 * spatial) if roi is None else roi
        if isinstance(size, Expr) or isinstance(roi, Expr):
            given = [value if isinstance(value, Expr) else const(list(value)) for value in (size, roi)]
            return call_op(f"dyn.image.{name}", [data, *given], attrs)
        attrs["size"] = tuple(int(n) if isinstance(n, float) else n for n in int_tuple(size, spatial))
        attrs["roi"] = [float(value) for value in roi]
        return call_op(f"image.{name}", [data], attrs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        'Images of another size. `method` is "nearest_neighbor", "linear" or "cubic"; `coordinate_transformation_mode` '
        "and `rounding_method` are those of ONNX's Resize."
    )
    return function


resize1d, resize2d, resize3d = (_resize(n, layout) for n, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")))


def crop_and_resize(
    data: Expr,
    boxes: Expr,
    box_indices: Expr,
    crop_size: Any,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    out_dtype: str | None = None,
) -> Call:
    """Boxes (y1, x1, y2, x2) cropped from the images that `box_indices` names, each in the size `crop_size`."""
    attrs = {
        "crop_size": crop_size,
        "layout": layout,
        "method": method,
        "extrapolation_value": extrapolation_value,
        "out_dtype": out_dtype or "",
    }
    return call_op("image.crop_and_resize", [data, boxes, box_indices], attrs)


def affine_grid(data: Expr, target_shape: Any = None) -> Call:
    """Where the pixels of a target lie in an image, after the affine transformations (batch, 2, 3)."""
    return call_op("image.affine_grid", [data], {"target_shape": target_shape})


def grid_sample(
    data: Expr,
    grid: Expr,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Call:
    """The data at the positions of `grid`; `method` is "bilinear", "nearest" or "bicubic"."""
    attrs = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return call_op("image.grid_sample", [data, grid], attrs)


def dilation2d(
    data: Expr,
    weight: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilations: Any = (1, 1),
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW",
    out_dtype: str = "",
) -> Call:
    """Morphological dilation: the greatest of data plus filter over each window."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    return call_op("image.dilation2d", [data, weight], window_attrs(2, attrs))
