"""Calls of the operators under `dyn.nn`."""

from __future__ import annotations

from typing import Any

from ....expr import Call, Expr
from ..._make import call_op


def pad(data: Expr, pad_width: Expr, pad_value: Any, pad_mode: str = "constant") -> Call:
    """Padding by widths that are a tensor."""
    return call_op("dyn.nn.pad", [data, pad_width, pad_value], {"pad_width": [], "pad_mode": pad_mode})


def upsampling(
    data: Expr,
    scale_h: Expr,
    scale_w: Expr,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """upsampling by factors that are tensors."""
    attrs = {"scale_h": 1.0, "scale_w": 1.0, "layout": layout, "method": method, "align_corners": align_corners}
    return call_op("dyn.nn.upsampling", [data, scale_h, scale_w], attrs)


def upsampling3d(
    data: Expr,
    scale_d: Expr,
    scale_h: Expr,
    scale_w: Expr,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """upsampling3d by factors that are tensors."""
    attrs = {
        "scale_d": 1.0,
        "scale_h": 1.0,
        "scale_w": 1.0,
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
    }
    return call_op("dyn.nn.upsampling3d", [data, scale_d, scale_h, scale_w], attrs)
