"""Schedules for Adreno GPUs, and the computes they are for."""

from .. import _schedules
from . import utils as utils

_NAMES = [
    "conv2d_nchw",
    "conv2d_nchw_winograd",
    "conv2d_nchwc",
    "conv2d_nhwc",
    "conv2d_nhwc_winograd",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nchwc",
    "depthwise_conv2d_nhwc",
    "injective",
    "pool",
    "reduce",
]

__all__ = _schedules.device_package(globals(), _NAMES, "gpu", "opencl -device=adreno")
