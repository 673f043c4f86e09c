"""Convolutions and linear layers by NNPACK, where a library has registered its functions."""

from __future__ import annotations

from typing import Any

from .. import te
from .._ffi.registry import get_global_func
from ..te import Tensor
from ..tir.op import call_packed
from . import _extern

__all__ = [
    "ConvolutionAlgorithm",
    "ConvolutionTransformStrategy",
    "convolution_inference",
    "convolution_inference_weight_transform",
    "convolution_inference_without_weight_transform",
    "fully_connected_inference",
    "is_available",
]


class ConvolutionAlgorithm:
    """NNPACK's codes of algorithms."""

    AUTO = 0
    FFT_8x8 = 1
    FFT_16x16 = 2
    WT_8x8 = 3
    IMPLICIT_GEMM = 4
    DIRECT = 5
    WT_8x8_FP16 = 6


class ConvolutionTransformStrategy:
    """When NNPACK transforms a weight."""

    COMPUTE = 1
    PRECOMPUTE = 2


def is_available() -> bool:
    """True when NNPACK is there and runs on this CPU."""
    started = get_global_func("tvm.contrib.nnpack._initialize", allow_missing=True)
    return started is not None and started() == 0


def fully_connected_inference(lhs: Tensor, rhs: Tensor, nthreads: int = 1) -> Tensor:
    """A vector times the transpose of a matrix."""
    name = "tvm.contrib.nnpack.fully_connected_inference"
    return _extern.library_call(name, (rhs.shape[0],), [lhs, rhs], nthreads)


def _convolution(
    name: str,
    data: Tensor,
    kernel: Tensor,
    bias: Any,
    kernel_size: tuple[Any, Any],
    padding: Any,
    stride: Any,
    *extra: Any,
) -> Tensor:
    batch, _, height, width = data.shape
    out_h = (height + padding[0] + padding[1] - kernel_size[0]) // stride[0] + 1
    out_w = (width + padding[2] + padding[3] - kernel_size[1]) // stride[1] + 1
    inputs = [data, kernel] if bias is None else [data, kernel, bias]
    return te.extern(
        (batch, kernel.shape[0], out_h, out_w),
        inputs,
        lambda ins, outs: call_packed(
            name, ins[0], ins[1], ins[2] if bias is not None else 0, outs[0], *padding, *stride, *extra
        ),
        dtype=data.dtype,
        name="C",
    )


def convolution_inference(
    data: Tensor,
    kernel: Tensor,
    bias: Any,
    padding: Any,
    stride: Any,
    nthreads: int = 1,
    algorithm: int = ConvolutionAlgorithm.AUTO,
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w); padding is (top, bottom, left, right)."""
    kernel_size = (kernel.shape[2], kernel.shape[3])
    name = "tvm.contrib.nnpack.convolution_inference"
    return _convolution(name, data, kernel, bias, kernel_size, padding, stride, nthreads, algorithm)


def convolution_inference_without_weight_transform(
    data: Tensor,
    transformed_kernel: Tensor,
    bias: Any,
    padding: Any,
    stride: Any,
    nthreads: int = 1,
    algorithm: int = ConvolutionAlgorithm.AUTO,
) -> Tensor:
    """The same for a 3x3 weight of `convolution_inference_weight_transform`."""
    name = "tvm.contrib.nnpack.convolution_inference_without_weight_transform"
    return _convolution(name, data, transformed_kernel, bias, (3, 3), padding, stride, nthreads, algorithm)


def convolution_inference_weight_transform(
    kernel: Tensor, nthreads: int = 1, algorithm: int = ConvolutionAlgorithm.AUTO, dtype: str = "float32"
) -> Tensor:
    """A 3x3 weight in the domain of tiles of 8x8."""
    if algorithm not in (ConvolutionAlgorithm.WT_8x8, ConvolutionAlgorithm.WT_8x8_FP16):
        raise ValueError(f"weights are transformed for WT_8x8 and WT_8x8_FP16, not for {algorithm}")
    shape = (kernel.shape[0], kernel.shape[1], 8, 8)
    name = "tvm.contrib.nnpack.convolution_inference_weight_transform"
    return _extern.library_call(name, shape, [kernel], nthreads, algorithm, dtype=dtype, out_name="transform_kernel")
