"""Schedules for Intel's GPUs, and the computes they are for."""

from .. import _schedules
from .._binding import tile_and_bind3d

_NAMES = [
    "conv2d_nchw",
    "depthwise_conv2d_nchw",
    "injective",
]

__all__ = [*_schedules.device_package(globals(), _NAMES, "gpu", "opencl -device=intel_graphics"), "tile_and_bind3d"]
