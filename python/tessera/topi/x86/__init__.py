"""Schedules for CPUs, and the computes they are for."""

from __future__ import annotations

from ...target import Target
from ...te import Schedule, Tensor
from .. import _schedules
from ..nn import dense as dense_nopack

_NAMES = [
    "adaptive_pool",
    "batch_matmul",
    "batch_matmul_cblas",
    "batch_matmul_mkl",
    "batch_norm",
    "binarize_pack",
    "binary_dense",
    "bitserial_conv2d_nchw",
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
    "concatenate",
    "concatenate_cpu",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d_NCHWc",
    "conv2d_NCHWc_int8",
    "conv2d_nchw",
    "conv2d_nchw_int8",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "dense_cblas",
    "dense_mkl",
    "dense_nopack",
    "dense_pack",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_nchw",
    "injective",
    "matmul_cblas",
    "matmul_mkl",
    "pool",
    "reduce",
    "softmax",
    "sparse_dense",
]


def _target() -> Target:
    current = Target.current(allow_none=True)
    return current if current is not None and "cpu" in current.keys else Target("llvm")


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """Schedules the stage of one element-wise tensor and leaves the others."""
    return _schedules.from_existing(sch, out, _target())


__all__ = [
    "dense_nopack",
    "schedule_injective_from_existing",
    *_schedules.install(globals(), _NAMES, _target),
    *_schedules.computes(globals(), _NAMES),
]
