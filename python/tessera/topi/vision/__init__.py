"""Operators that detect objects, as tensor expressions."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from ...te import compute
from ...tir import const
from .._records import call_record, const_tuple
from . import anchors
from .anchors import *

__all__ = [
    *anchors.__all__,
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_detection",
    "multibox_prior",
    "multibox_transform_loc",
    "non_max_suppression",
    "proposal",
    "reorg",
    "roi_align_nchw",
    "roi_align_nhwc",
    "roi_pool_nchw",
]


def _scalar(value: Any, dtype: str) -> Tensor:
    """A tensor without dimensions from one, or from a number."""
    return value if isinstance(value, Tensor) else compute((), lambda: const(value, dtype), name="scalar")


def _reals(values: Any) -> list[float]:
    return [float(getattr(value, "value", value)) for value in values]


def get_valid_counts(data: Tensor, score_threshold: Any = 0, id_index: int = 0, score_index: int = 1) -> list[Tensor]:
    """How many boxes score above the threshold, those boxes moved to the front, and where they came from."""
    attrs = {"id_index": id_index, "score_index": score_index}
    inputs = [data, _scalar(score_threshold, "float32")]
    return call_record("vision.get_valid_counts", inputs, attrs, "relay.attrs.GetValidCountsAttrs")


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:
    """Of boxes that overlap, the one with the best score."""
    attrs = {
        "force_suppress": force_suppress,
        "top_k": top_k,
        "coord_start": coord_start,
        "score_index": score_index,
        "id_index": id_index,
        "return_indices": return_indices,
        "invalid_to_bottom": invalid_to_bottom,
    }
    inputs = [data, valid_count, indices, _scalar(max_output_size, "int32"), _scalar(iou_threshold, "float32")]
    return call_record("vision.non_max_suppression", inputs, attrs, "relay.attrs.NonMaximumSuppressionAttrs")


def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Any,
    iou_threshold: Any,
    score_threshold: Any,
    output_format: str = "onnx",
) -> list[Tensor]:
    """Of the boxes of each class that overlap, the one with the best score."""
    inputs = [
        boxes,
        scores,
        _scalar(max_output_boxes_per_class, "int32"),
        _scalar(iou_threshold, "float32"),
        _scalar(score_threshold, "float32"),
    ]
    return call_record(
        "vision.all_class_non_max_suppression",
        inputs,
        {"output_format": output_format},
        "relay.attrs.AllClassNonMaximumSuppressionAttrs",
    )


def multibox_prior(
    data: Tensor,
    sizes: Any = (1,),
    ratios: Any = (1,),
    steps: Any = (-1, -1),
    offsets: Any = (0.5, 0.5),
    clip: bool = False,
) -> Tensor:
    """Anchors around each pixel, in fractions of the image."""
    lists = {"sizes": sizes, "ratios": ratios, "steps": steps, "offsets": offsets}
    attrs: dict[str, Any] = {name: _reals(values) for name, values in lists.items()}
    return call_record("vision.multibox_prior", [data], {**attrs, "clip": clip})


def multibox_transform_loc(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Any = (0.1, 0.1, 0.2, 0.2),
) -> list[Tensor]:
    """Boxes (class, score, x1, y1, x2, y2) of all that are not background, and how many."""
    attrs = {"clip": clip, "threshold": threshold, "variances": _reals(variances)}
    return call_record("vision.multibox_transform_loc", [cls_prob, loc_pred, anchor], attrs)


def multibox_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Any = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Tensor:
    """Boxes from anchors and predictions, the best of those that overlap."""
    boxes, count = multibox_transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances)
    batch, anchors = cls_prob.shape[0], cls_prob.shape[2]
    indices = compute((batch, anchors), lambda i, j: j.astype("int32"), name="places")
    return non_max_suppression(boxes, count, indices, -1, nms_threshold, force_suppress, nms_topk, return_indices=False)


def _roi_align(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int, layout: str
) -> Tensor:
    kinds = {0: "avg", 1: "max", b"avg": "avg", b"max": "max", "avg": "avg", "max": "max"}
    attrs = {
        "pooled_size": const_tuple(pooled_size, 2),
        "spatial_scale": spatial_scale,
        "sample_ratio": sample_ratio,
        "layout": layout,
        "mode": kinds[mode],
    }
    return call_record("vision.roi_align", [data, rois], attrs, "relay.attrs.ROIAlignAttrs")


def roi_align_nchw(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int = -1
) -> Tensor:
    """Regions of (n, c, h, w) in one size, sampled between the elements."""
    return _roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NCHW")


def roi_align_nhwc(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int = -1
) -> Tensor:
    """Regions of (n, h, w, c) in one size, sampled between the elements."""
    return _roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NHWC")


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float) -> Tensor:
    """Regions of (n, c, h, w) in one size, the greatest element of each bin."""
    attrs = {"pooled_size": const_tuple(pooled_size, 2), "spatial_scale": spatial_scale}
    return call_record("vision.roi_pool", [data, rois], attrs, "relay.attrs.ROIPoolAttrs")


def proposal(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    scales: Any,
    ratios: Any,
    feature_stride: int,
    threshold: float,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    rpn_min_size: int,
    iou_loss: bool,
) -> Tensor:
    """Regions from anchors and predictions, the best of those that overlap."""
    attrs = {
        "scales": _reals(scales),
        "ratios": _reals(ratios),
        "feature_stride": feature_stride,
        "threshold": threshold,
        "rpn_pre_nms_top_n": rpn_pre_nms_top_n,
        "rpn_post_nms_top_n": rpn_post_nms_top_n,
        "rpn_min_size": rpn_min_size,
        "iou_loss": iou_loss,
    }
    return call_record("vision.proposal", [cls_prob, bbox_pred, im_info], attrs, "relay.attrs.ProposalAttrs")


def reorg(data: Tensor, stride: int) -> Tensor:
    """Space against channels, in the order of Darknet's reorg layer."""
    return call_record("vision.yolo_reorg", [data], {"stride": stride})
