"""Schedules for any target: that of `with target:`, else this CPU."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import get_global_func
from ...target import Target
from ...te import Schedule, Tensor
from .. import _schedules

_NAMES = [
    "adaptive_pool",
    "argsort",
    "argwhere",
    "batch_matmul",
    "batch_norm",
    "binarize_pack",
    "binary_dense",
    "bitpack",
    "bitserial_conv2d_nchw",
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d_NCHWc",
    "conv2d_NCHWc_int8",
    "conv2d_gemm_weight_transform",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_nhwc_pack",
    "conv2d_transpose_nchw",
    "conv2d_winograd_nnpack_weight_transform",
    "conv2d_winograd_weight_transform",
    "conv2d_winograd_without_weight_transform",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "conv3d_winograd_weight_transform",
    "correlation_nchw",
    "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc",
    "dense",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilation2d_nchw",
    "dilation2d_nhwc",
    "einsum",
    "extern",
    "fast_softmax",
    "get_valid_counts",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "injective",
    "lrn",
    "lstm",
    "matmul",
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
    "scatter",
    "scatter_add",
    "softmax",
    "sort",
    "sparse_conv2d",
    "sparse_dense",
    "sparse_fill_empty_rows",
    "sparse_transpose",
    "topk",
    "unique",
]


def _target() -> Target:
    return Target.current(allow_none=True) or Target("llvm")


def default_schedule(outs: Any, auto_inline: bool) -> Schedule:
    """Plain loops, after element-wise stages were put into their consumers where `auto_inline` says so."""
    tensors = _schedules.as_list(outs)
    if auto_inline:
        return get_global_func("topi.schedule_inlined")(tensors)
    return get_global_func("te.CreateSchedule")([out.op for out in tensors])


def default_schedule_for(outs: Any) -> Schedule:
    """The schedule of operators that have none of their own, for the current target."""
    return _schedules.schedule_for(outs, _target())


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedules the stage of one element-wise tensor and leaves the others."""
    return _schedules.from_existing(sch, out, _target())


__all__ = [
    "default_schedule",
    "default_schedule_for",
    "schedule_injective_from_existing",
    *_schedules.install(globals(), _NAMES, _target),
]
