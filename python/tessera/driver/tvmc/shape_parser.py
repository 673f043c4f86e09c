"""Shapes as the command line gives them."""

from __future__ import annotations

import argparse
from typing import Any

from ..._ffi.registry import get_global_func
from .exceptions import TVMCException, from_core

__all__ = ["parse_shape_string"]


class _ShapeError(TVMCException, argparse.ArgumentTypeError):
    """A text that names no shapes: what the driver raises, and what parsers of arguments expect."""


def parse_shape_string(inputs_string: str) -> dict[str, list[Any]]:
    """`"data:[1,3,224,224] mask:[1,-1]"`, with spaces or commas between, by name; an extent of -1 is `relay.Any()`."""
    try:
        with from_core():
            shapes = get_global_func("frontend.parse_input_shapes")(inputs_string)
    except TVMCException as error:
        raise _ShapeError(str(error)) from error
    names = sorted(map(str, shapes), key=lambda name: inputs_string.find(f"{name}:"))  # a map has no order
    return {name: [x if _is_any(x) else int(x) for x in shapes[name]] for name in names}


def _is_any(extent: Any) -> bool:
    return not hasattr(extent, "value")
