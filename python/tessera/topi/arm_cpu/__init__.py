"""Schedules for ARM's CPUs, and the computes they are for."""

from .. import _schedules

_NAMES = [
    "concatenate",
    "conv1d_nwc",
    "conv2d_nchw",
    "conv2d_nchw_int8",
    "conv2d_nchw_spatial_pack",
    "conv2d_nchw_winograd",
    "conv2d_nhwc",
    "conv2d_nhwc_spatial_pack",
    "conv2d_transpose_nchw",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nchw_spatial_pack",
    "depthwise_conv2d_nhwc",
    "group_conv2d_nchw",
    "injective",
    "pool",
    "reduce",
    "softmax",
]

__all__ = _schedules.device_package(globals(), _NAMES, "cpu", "llvm -device=arm_cpu")
