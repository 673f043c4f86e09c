"""Boxes chosen among many; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr, TupleWrapper, const
from .._make import call_op

__all__ = ["all_class_non_max_suppression", "get_valid_counts", "non_max_suppression"]


def _scalar(value: Any, dtype: str) -> Expr:
    return value if isinstance(value, Expr) else const(value, dtype)


def get_valid_counts(data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """How many boxes score above the threshold, those boxes moved to the front, and where they came from."""
    attrs = {"id_index": id_index, "score_index": score_index}
    args = [data, _scalar(score_threshold, "float32")]
    return TupleWrapper(call_op("vision.get_valid_counts", args, attrs, attrs_key="relay.attrs.GetValidCountsAttrs"), 3)


def non_max_suppression(
    data: Expr,
    valid_count: Expr,
    indices: Expr,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Call | TupleWrapper:
    """Of boxes that overlap, the one with the best score: the boxes, or where they came from and how many they are."""
    attrs = {
        "force_suppress": force_suppress,
        "top_k": top_k,
        "coord_start": coord_start,
        "score_index": score_index,
        "id_index": id_index,
        "return_indices": return_indices,
        "invalid_to_bottom": invalid_to_bottom,
    }
    args = [data, valid_count, indices, _scalar(max_output_size, "int32"), _scalar(iou_threshold, "float32")]
    call = call_op("vision.non_max_suppression", args, attrs, attrs_key="relay.attrs.NonMaximumSuppressionAttrs")
    return TupleWrapper(call, 2) if return_indices else call


def all_class_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """Of the boxes of each class that overlap, the one with the best score.

    "onnx": rows (image, class, box), and how many. "tensorflow": for each image rows (class, box) by falling score, the
    scores, and how many.
    """
    args = [
        boxes,
        scores,
        _scalar(max_output_boxes_per_class, "int32"),
        _scalar(iou_threshold, "float32"),
        _scalar(score_threshold, "float32"),
    ]
    call = call_op(
        "vision.all_class_non_max_suppression",
        args,
        {"output_format": output_format},
        attrs_key="relay.attrs.AllClassNonMaximumSuppressionAttrs",
    )
    return TupleWrapper(call, 2 if output_format == "onnx" else 3)
