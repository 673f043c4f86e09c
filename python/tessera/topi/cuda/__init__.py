"""Schedules for GPUs of any make, and the computes they are for."""

from __future__ import annotations

from ...target import Target
from ...te import Schedule, Tensor
from .. import _schedules

_NAMES = [
    "adaptive_pool",
    "argsort",
    "argwhere",
    "batch_matmul",
    "batch_matmul_int8",
    "bitpack",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d_NCHWc_int8",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nchw_int8",
    "conv2d_nchw_winograd",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "correlation_nchw",
    "deformable_conv2d_nchw",
    "dense_int8",
    "dense_large_batch",
    "dense_small_batch",
    "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "get_valid_counts",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_NCHWc_int8",
    "group_conv2d_nchw",
    "group_conv2d_nchw_int8",
    "injective",
    "lrn",
    "matmul_default",
    "multibox_detection",
    "multibox_prior",
    "multibox_transform_loc",
    "nms",
    "pool",
    "pool_grad",
    "proposal",
    "reduce",
    "reorg",
    "roi_align",
    "roi_pool",
    "scan",
    "softmax",
    "sort",
    "sparse_dense",
    "sparse_dense_padded",
    "topk",
    "transpose",
]


def _target() -> Target:
    current = Target.current(allow_none=True)
    return current if current is not None and "gpu" in current.keys else Target("cuda")


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedules the stage of one element-wise tensor and leaves the others."""
    return _schedules.from_existing(sch, out, _target())


__all__ = [
    "schedule_injective_from_existing",
    *_schedules.install(globals(), _NAMES, _target),
    *_schedules.computes(globals(), _NAMES),
]
