"""Schedules for Mali GPUs, and the computes they are for."""

from .. import _schedules
from .._binding import fuse_and_bind, tile_and_bind, tile_and_bind3d

_NAMES = [
    "conv2d_nchw_spatial_pack",
    "conv2d_nchw_winograd",
    "conv2d_nhwc_spatial_pack",
    "dense",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "injective",
]

__all__ = [
    *_schedules.device_package(globals(), _NAMES, "gpu", "opencl -device=mali"),
    "fuse_and_bind",
    "tile_and_bind",
    "tile_and_bind3d",
]
