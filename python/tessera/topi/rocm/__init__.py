"""Schedules for AMD's GPUs, and the computes they are for."""

from .. import _schedules

_NAMES = [
    "batch_matmul",
    "batch_matmul_rocblas",
    "conv2d_nchw",
    "conv2d_nchw_miopen",
    "dense",
    "dense_rocblas",
    "injective",
    "lrn",
    "reduce",
    "softmax",
]

__all__ = _schedules.device_package(globals(), _NAMES, "gpu", "rocm")
