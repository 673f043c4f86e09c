"""Schedules for GPUs of any make, by names without one, and the computes they are for."""

from .. import _schedules

_NAMES = [
    "conv2d_nhwc",
    "dense_large_batch",
    "dense_small_batch",
    "injective",
    "matmul_default",
]

__all__ = _schedules.device_package(globals(), _NAMES, "gpu", "cuda")
