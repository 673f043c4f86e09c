"""Schedules for CPUs, and the computes they are for."""

from .. import _schedules
from ..nn import conv2d_alter_layout as _alter_conv2d_layout
from ..nn import dense_alter_layout as _alter_dense_layout
from . import tensor_intrin as tensor_intrin
from . import vnni
from .vnni import *

_NAMES = [
    "adaptive_pool",
    "argwhere",
    "batch_matmul",
    "batch_matmul_cblas",
    "batch_matmul_mkl",
    "batch_norm",
    "binarize_pack",
    "binary_dense",
    "bitserial_conv2d_nchw",
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
    "broadcast",
    "concatenate",
    "concatenate_cpu",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d_NCHWc",
    "conv2d_NCHWc_int8",
    "conv2d_nchw",
    "conv2d_nchw_int8",
    "conv2d_nhwc",
    "conv2d_nhwc_pack_int8",
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
    "depthwise_conv2d_nhwc",
    "elemwise",
    "extern",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_nchw",
    "injective",
    "matmul_cblas",
    "matmul_mkl",
    "pool",
    "reduce",
    "roi_align_nchw",
    "scatter_nd",
    "softmax",
    "sparse_dense",
]


__all__ = [*_schedules.device_package(globals(), _NAMES, "cpu", "llvm"), "tensor_intrin", *vnni.__all__]
