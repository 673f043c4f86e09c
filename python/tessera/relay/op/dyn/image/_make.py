"""Calls of the operators under `dyn.image`."""

from __future__ import annotations

from ....expr import Call, Expr
from ..._make import call_op


def resize2d(
    data: Expr,
    size: Expr,
    roi: Expr,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:
    """resize2d to a size that is a tensor."""
    attrs = {
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "rounding_method": rounding_method,
        "cubic_alpha": cubic_alpha,
        "cubic_exclude": cubic_exclude,
        "extrapolation_value": extrapolation_value,
        "out_dtype": out_dtype or "",
    }
    return call_op("dyn.image.resize2d", [data, size, roi], attrs)
