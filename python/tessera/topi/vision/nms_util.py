"""Pieces of suppression of boxes, for programs written with ir_builder."""

from __future__ import annotations

from typing import Any

from ... import tir

__all__ = ["binary_search", "calculate_overlap"]


def _get(tensor: Any, first: Any, number: int) -> Any:
    return tensor[first + number]


def calculate_overlap(out_tensor: Any, box_a_idx: Any, box_b_idx: Any) -> Any:
    """How much of two boxes is in both: their common area by that of either. A box is four numbers (left, top, right, bottom)
    from its index on, in any order of the corners."""

    def corners(index: Any) -> tuple[Any, Any, Any, Any]:
        x0, y0, x1, y1 = (_get(out_tensor, index, n) for n in range(4))
        return tir.min(x0, x1), tir.min(y0, y1), tir.max(x0, x1), tir.max(y0, y1)

    left_a, top_a, right_a, bottom_a = corners(box_a_idx)
    left_b, top_b, right_b, bottom_b = corners(box_b_idx)
    zero = tir.const(0.0, left_a.dtype)
    width = tir.max(zero, tir.min(right_a, right_b) - tir.max(left_a, left_b))
    height = tir.max(zero, tir.min(bottom_a, bottom_b) - tir.max(top_a, top_b))
    common = width * height
    both = (right_a - left_a) * (bottom_a - top_a) + (right_b - left_b) * (bottom_b - top_b) - common
    return tir.Select(both <= zero, zero, common / both)


def binary_search(ib: Any, y: Any, num_boxes: Any, scores: Any, score_threshold: Any, out: Any) -> None:
    """Writes to out[y] how many of the first `num_boxes` scores of row y, which fall, are above the threshold."""
    low = ib.allocate("int32", (1,), name="lo", scope="local")
    high = ib.allocate("int32", (1,), name="hi", scope="local")
    low[0] = 0
    high[0] = tir.Cast("int32", num_boxes)
    with ib.while_loop(low[0] < high[0]):
        middle: Any = tir.floordiv(low[0] + high[0], 2)
        with ib.if_scope(scores[y, middle] > score_threshold):
            low[0] = middle + 1
        with ib.else_scope():
            high[0] = middle
    out[y] = low[0]
