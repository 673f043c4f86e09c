"""Padding as users write it, as numbers before and after each dimension."""

from __future__ import annotations

from typing import Any

from .conv import both_sides

__all__ = ["get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d"]


def get_pad_tuple1d(padding: Any) -> tuple[Any, ...]:
    """left, right."""
    return both_sides(padding, 1)


def get_pad_tuple2d(padding: Any) -> tuple[Any, ...]:
    """top, left, bottom, right."""
    return both_sides(padding, 2)


def get_pad_tuple3d(padding: Any) -> tuple[Any, ...]:
    """front, top, left, back, bottom, right."""
    return both_sides(padding, 3)
