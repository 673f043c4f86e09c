"""Schedules for ARM's CPUs, and the computes they are for."""

from .. import _schedules
from .arm_utils import is_aarch64_arm
from .conv2d_int8 import (
    compute_conv2d_gemm_without_weight_transform,
    compute_conv2d_NHWC_quantized_interleaved,
    compute_conv2d_NHWC_quantized_interleaved_without_transform,
    compute_conv2d_NHWC_quantized_native,
    compute_conv2d_NHWC_quantized_native_without_transform,
    is_int8_hw_support,
)
from .depthwise_conv2d import compute_depthwise_conv2d_nhwc

_NAMES = [
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
    "concatenate",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d_NCHWc_int8",
    "conv2d_NHWC_quantized_interleaved",
    "conv2d_NHWC_quantized_native",
    "conv2d_nchw",
    "conv2d_nchw_int8",
    "conv2d_nchw_spatial_pack",
    "conv2d_nchw_winograd",
    "conv2d_nchw_winograd_nnpack",
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

__all__ = [
    "compute_conv2d_NHWC_quantized_interleaved_without_transform",
    "compute_conv2d_NHWC_quantized_native_without_transform",
    "compute_conv2d_gemm_without_weight_transform",
    "compute_conv2d_NHWC_quantized_interleaved",
    "compute_conv2d_NHWC_quantized_native",
    "compute_depthwise_conv2d_nhwc",
    *_schedules.device_package(globals(), _NAMES, "cpu", "llvm -device=arm_cpu"),
]
