"""Boxes of proposals: anchors, and what offsets make of them."""

from __future__ import annotations

import math
from typing import Any

from ... import te

__all__ = ["generate_anchor", "reg_bbox", "reg_iou"]


def generate_anchor(ratio: float, scale: float, base_size: int) -> tuple[float, float, float, float]:
    """The anchor of a ratio of height to width and a scale, around a square of `base_size` elements: left, top, right,
    bottom."""
    middle = 0.5 * (base_size - 1.0)
    size = math.floor(base_size * base_size / ratio)
    width = math.floor(math.sqrt(size) + 0.5) * scale
    height = math.floor((width / scale * ratio) + 0.5) * scale
    return (
        middle - 0.5 * (width - 1.0),
        middle - 0.5 * (height - 1.0),
        middle + 0.5 * (width - 1.0),
        middle + 0.5 * (height - 1.0),
    )


def reg_bbox(x1: Any, y1: Any, x2: Any, y2: Any, dx: Any, dy: Any, dw: Any, dh: Any) -> tuple[Any, ...]:
    """A box moved by offsets of its centre, in parts of its size, and scaled by exp of the last two."""
    width, height = x2 - x1 + 1.0, y2 - y1 + 1.0
    x, y = x1 + 0.5 * (width - 1.0) + dx * width, y1 + 0.5 * (height - 1.0) + dy * height
    half_width, half_height = 0.5 * (te.exp(dw) * width - 1.0), 0.5 * (te.exp(dh) * height - 1.0)
    return x - half_width, y - half_height, x + half_width, y + half_height


def reg_iou(x1: Any, y1: Any, x2: Any, y2: Any, dx1: Any, dy1: Any, dx2: Any, dy2: Any) -> tuple[Any, ...]:
    """A box whose corners are moved."""
    return x1 + dx1, y1 + dy1, x2 + dx2, y2 + dy2
