"""Indices of images in any layout, and the coordinates that resizing reads: what a compute of one's own is made of."""

from __future__ import annotations

import re
from typing import Any

from ... import te, tir
from ..utils import nchw_pack_layout, nchw_xc_layout

__all__ = [
    "can_convert_multiply_to_intdiv",
    "get_1d_indices",
    "get_1d_pixel",
    "get_2d_indices",
    "get_2d_pixel",
    "get_3d_indices",
    "get_3d_pixel",
    "get_closest_index",
    "get_inx",
]


def can_convert_multiply_to_intdiv(origin_size: Any, scaled_size: Any) -> bool:
    """True where an image becomes a whole number of times larger, so that its index is an integer division."""
    before, after = (getattr(size, "value", size) for size in (origin_size, scaled_size))
    return isinstance(before, int) and isinstance(after, int) and before > 0 and after % before == 0


def _named(indices: Any, layout: str, letters: str) -> list[Any]:
    """The indices of these dimensions of a plain layout."""
    at = dict(zip(layout, indices))
    return [at[letter] for letter in letters]


def get_1d_indices(indices: Any, layout: str = "NCW") -> tuple[Any, ...]:
    """n, c, x, and the inner channel, which plain layouts have not (0)."""
    if layout not in ("NCW", "NWC"):
        raise ValueError(f"{layout} layout is not supported.")
    n, c, x = _named(indices, layout, "NCW")
    return n, c, x, 0


def get_2d_indices(indices: Any, layout: str = "NCHW") -> tuple[Any, ...]:
    """n, c, y, x, then the inner channel, batch and channel of blocked layouts (0 in plain ones)."""
    if layout in ("NCHW", "NHWC"):
        return (*_named(indices, layout, "NCHW"), 0, 0, 0)
    if nchw_pack_layout(layout):
        n, c, y, x, inner_n, inner_c = indices
        return n, c, y, x, 0, inner_n, inner_c
    if nchw_xc_layout(layout):
        n, c, y, x, inner = indices
        return n, c, y, x, inner, 0, 0
    raise ValueError(f"{layout} layout is not supported.")


def get_3d_indices(indices: Any, layout: str = "NCDHW") -> tuple[Any, ...]:
    """n, c, z, y, x, and the inner channel (0 in plain layouts)."""
    if layout in ("NCDHW", "NDHWC"):
        return (*_named(indices, layout, "NCDHW"), 0)
    if re.fullmatch(r"NCDHW\d+c", layout):
        return tuple(indices)
    raise ValueError(f"{layout} layout is not supported.")


def _inside(position: Any, extent: Any) -> Any:
    return te.max(te.min(position, extent - 1), 0)


def get_1d_pixel(data: Any, layout: str, image_width: Any, n: Any, c: Any, x: Any, cc: Any, ib: Any, ic: Any) -> Any:
    """The element at x, or the nearest one inside."""
    del cc, ib, ic
    at = {"N": n, "C": c, "W": _inside(x, image_width)}
    return data(*(at[letter] for letter in layout)).astype("float")


def get_2d_pixel(
    data: Any,
    layout: str,
    image_height: Any,
    image_width: Any,
    n: Any,
    c: Any,
    y: Any,
    x: Any,
    cc: Any,
    ib: Any,
    ic: Any,
) -> Any:
    """The element at (y, x), or the nearest one inside."""
    y, x = _inside(y, image_height), _inside(x, image_width)
    if layout in ("NCHW", "NHWC"):
        at = {"N": n, "C": c, "H": y, "W": x}
        return data(*(at[letter] for letter in layout)).astype("float")
    if nchw_pack_layout(layout):
        return data(n, c, y, x, ib, ic).astype("float")
    return data(n, c, y, x, cc).astype("float")


def get_3d_pixel(
    data: Any,
    layout: str,
    image_depth: Any,
    image_height: Any,
    image_width: Any,
    n: Any,
    c: Any,
    z: Any,
    y: Any,
    x: Any,
    cc: Any,
) -> Any:
    """The element at (z, y, x), or the nearest one inside."""
    z, y, x = _inside(z, image_depth), _inside(y, image_height), _inside(x, image_width)
    if layout in ("NCDHW", "NDHWC"):
        at = {"N": n, "C": c, "D": z, "H": y, "W": x}
        return data(*(at[letter] for letter in layout)).astype("float")
    return data(n, c, z, y, x, cc).astype("float")


def get_inx(
    x: Any,
    image_width: Any,
    target_width: Any,
    coordinate_transformation_mode: str,
    start_x: Any = 0,
    end_x: Any = -1,
    use_int_div: bool = False,
) -> Any:
    """Where an element of the result lies in the image."""
    scale = te.div(image_width.astype("float") if hasattr(image_width, "astype") else float(image_width), target_width)
    mode = coordinate_transformation_mode
    if mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if mode == "align_corners":
        return (
            (image_width - 1).astype("float") / (target_width - 1) * x
            if hasattr(image_width, "astype")
            else ((image_width - 1) / max(target_width - 1, 1)) * x
        )
    if mode == "asymmetric":
        return te.indexdiv(x, te.indexdiv(target_width, image_width)) if use_int_div else scale * x
    if mode == "pytorch_half_pixel":
        return te.if_then_else(target_width > 1, (x + 0.5) * scale - 0.5, tir.const(0.0, "float32"))
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    if mode == "tf_crop_and_resize":
        span = start_x * (image_width - 1) + x * (end_x - start_x) * (image_width - 1) / (target_width - 1)
        middle = 0.5 * (start_x + end_x) * (image_width - 1)
        return te.if_then_else(target_width > 1, span, middle)
    raise ValueError(f"Unsupported coordinate_transformation_mode: {mode}")


def get_closest_index(in_x: Any, rounding_method: str, boxes: Any, use_int_div: bool = False) -> Any:
    """The index of the element nearest to a coordinate."""
    if use_int_div:
        return in_x.astype("int32")
    if rounding_method == "round" or boxes is not None:
        return te.round(in_x).astype("int32")
    if rounding_method == "round_prefer_floor":
        return te.ceil(in_x - 0.5).astype("int32")
    if rounding_method == "round_prefer_ceil":
        return te.floor(in_x + 0.5).astype("int32")
    if rounding_method == "floor":
        return te.floor(in_x + 1e-5).astype("int32")  # against rounding of the coordinate
    if rounding_method == "ceil":
        return te.ceil(in_x - 1e-5).astype("int32")
    raise ValueError(f"Unknown rounding method: {rounding_method}")
