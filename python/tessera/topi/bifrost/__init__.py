"""Schedules for Mali GPUs of the Bifrost kind, and the computes they are for."""

from .. import _binding, _schedules
from .._binding import *

_NAMES = [
    "conv2d_nchw_spatial_pack",
    "conv2d_nchw_winograd",
    "dense",
    "depthwise_conv2d_nchw",
    "injective",
]

__all__ = [*_schedules.device_package(globals(), _NAMES, "gpu", "opencl -device=bifrost"), *_binding.__all__]
