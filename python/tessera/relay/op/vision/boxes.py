"""Anchors, boxes and regions; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr, TupleWrapper
from .._make import call_op, int_tuple

__all__ = ["multibox_prior", "multibox_transform_loc", "proposal", "roi_align", "roi_pool", "yolo_reorg"]


def _reals(values: Any) -> list[float]:
    return [float(value) for value in values]


def multibox_prior(
    data: Expr,
    sizes: Any = (1.0,),
    ratios: Any = (1.0,),
    steps: Any = (-1.0, -1.0),
    offsets: Any = (0.5, 0.5),
    clip: bool = False,
) -> Call:
    """Anchors around each pixel, in fractions of the image."""
    lists = {"sizes": sizes, "ratios": ratios, "steps": steps, "offsets": offsets}
    return call_op(
        "vision.multibox_prior", [data], {**{name: _reals(values) for name, values in lists.items()}, "clip": clip}
    )


def multibox_transform_loc(
    cls_prob: Expr,
    loc_pred: Expr,
    anchor: Expr,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Any = (0.1, 0.1, 0.2, 0.2),
) -> TupleWrapper:
    """Boxes (class, score, x1, y1, x2, y2) of all that are not background, and how many."""
    attrs = {"clip": clip, "threshold": threshold, "variances": _reals(variances)}
    return TupleWrapper(call_op("vision.multibox_transform_loc", [cls_prob, loc_pred, anchor], attrs), 2)


def roi_align(
    data: Expr,
    rois: Expr,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int = -1,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Call:
    """Regions (image, x1, y1, x2, y2) in one size, sampled between the elements."""
    attrs = {
        "pooled_size": int_tuple(pooled_size, 2),
        "spatial_scale": spatial_scale,
        "sample_ratio": sample_ratio,
        "layout": layout,
        "mode": mode,
    }
    return call_op("vision.roi_align", [data, rois], attrs, attrs_key="relay.attrs.ROIAlignAttrs")


def roi_pool(data: Expr, rois: Expr, pooled_size: Any, spatial_scale: float, layout: str = "NCHW") -> Call:
    """Regions (image, x1, y1, x2, y2) in one size, the greatest element of each bin."""
    attrs = {"pooled_size": int_tuple(pooled_size, 2), "spatial_scale": spatial_scale, "layout": layout}
    return call_op("vision.roi_pool", [data, rois], attrs, attrs_key="relay.attrs.ROIPoolAttrs")


def proposal(
    cls_prob: Expr,
    bbox_pred: Expr,
    im_info: Expr,
    scales: Any,
    ratios: Any,
    feature_stride: int,
    threshold: float,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    rpn_min_size: int,
    iou_loss: bool,
) -> Call:
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
    return call_op("vision.proposal", [cls_prob, bbox_pred, im_info], attrs, attrs_key="relay.attrs.ProposalAttrs")


def yolo_reorg(data: Expr, stride: int) -> Call:
    """Space against channels, in the order of Darknet's reorg layer."""
    return call_op("vision.yolo_reorg", [data], {"stride": stride})
