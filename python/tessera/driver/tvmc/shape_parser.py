"""Shapes as the command line gives them."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import get_global_func
from .exceptions import from_core

__all__ = ["parse_shape_string"]


def parse_shape_string(inputs_string: str) -> dict[str, list[Any]]:
    """`"data:[1,3,224,224] mask:[1,-1]"` by name; an extent of -1 is `relay.Any()`."""
    with from_core():
        shapes = get_global_func("frontend.parse_input_shapes")(inputs_string)
    return {str(name): [x if _is_any(x) else int(x) for x in shape] for name, shape in shapes.items()}


def _is_any(extent: Any) -> bool:
    return not hasattr(extent, "value")
