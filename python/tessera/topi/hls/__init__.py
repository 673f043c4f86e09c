"""Schedules for high-level synthesis, and the computes they are for."""

from .. import _schedules

_NAMES = [
    "adaptive_pool",
    "conv2d_NCHWc",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "dense",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "injective",
    "pool",
    "reduce",
    "softmax",
]

__all__ = _schedules.device_package(globals(), _NAMES, "cpu", "llvm")
