"""Images and boxes of MXNet; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import Case
from ._mxnet_symbol import case, floats, tensor


def _images() -> Iterator[Case]:
    image = tensor(1, 4, 8, 8)
    yield case("UpSampling", image, scale=2, sample_type="nearest")
    yield case("UpSampling", image, tensor(4, 1, 4, 4), scale=2, sample_type="bilinear", num_filter=4, num_args=2)
    yield case("_contrib_BilinearResize2D", image, height=12, width=5)
    yield case("_contrib_AdaptiveAvgPooling2D", image, output_size=(3, 5))
    yield case(
        "Correlation",
        image,
        tensor(1, 4, 8, 8, seed=4),
        kernel_size=1,
        max_displacement=2,
        stride1=1,
        stride2=1,
        pad_size=2,
    )
    yield case("GridGenerator", tensor(1, 6), transform_type="affine", target_shape=(5, 6))
    yield case("GridGenerator", tensor(1, 2, 5, 6), transform_type="warp")
    yield case("BilinearSampler", image, tensor(1, 2, 5, 6))
    regions = floats([[0, 1, 1, 6, 5], [0, 0, 2, 7, 7]])
    yield case("ROIPooling", image, regions, pooled_size=(3, 3), spatial_scale=1.0)
    yield case("_contrib_ROIAlign", image, regions, pooled_size=(3, 3), spatial_scale=0.5, sample_ratio=2)
    yield case(
        "_contrib_DeformableConvolution",
        image,
        tensor(1, 18, 6, 6),
        tensor(3, 4, 3, 3),
        tensor(3),
        kernel=(3, 3),
        num_filter=3,
    )
    yield case("_contrib_MultiBoxPrior", image, sizes=(0.5, 0.3), ratios=(1, 2))
    corners = np.sort(tensor(1, 12, 2, 2, low=0, high=10), axis=2).reshape(1, 12, 4)
    boxes = np.concatenate(
        [np.round(tensor(1, 12, 1, low=0, high=2)), tensor(1, 12, 1, seed=3, low=0), corners], axis=2
    )
    yield case("_contrib_box_nms", boxes, overlap_thresh=0.3, valid_thresh=0.2, id_index=0)
    yield case("_contrib_box_nms", boxes, overlap_thresh=0.3, force_suppress=True, out_format="center")
    yield case(
        "_contrib_box_decode", tensor(2, 5, 4), tensor(1, 5, 4, low=1, high=2), std0=0.1, std1=0.1, std2=0.2, std3=0.2
    )
    anchors = np.sort(tensor(1, 6, 2, 2, low=0.0), axis=2).reshape(1, 6, 4)
    scores = np.abs(tensor(1, 3, 6)) + 0.05
    yield case(
        "_contrib_MultiBoxDetection",
        scores / scores.sum(1, keepdims=True),
        0.1 * tensor(1, 24),
        anchors,
        nms_threshold=0.99,
    )
    for name in ("_contrib_Proposal", "_contrib_MultiProposal"):
        yield case(
            name,
            np.abs(tensor(1, 2 * 3, 4, 4)),
            0.1 * tensor(1, 4 * 3, 4, 4),
            floats([[64, 64, 1]]),
            scales=(2,),
            ratios=(0.5, 1, 2),
            rpn_pre_nms_top_n=30,
            rpn_post_nms_top_n=8,
            rpn_min_size=4,
        )


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _images()
