"""Matmuls and convolutions by Metal Performance Shaders, where a library has registered its functions."""

from __future__ import annotations

from ..te import Tensor
from . import _extern

__all__ = ["conv2d", "matmul"]


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False) -> Tensor:
    """The matmul of two matrices, either of which may be stored transposed."""
    return _extern.matmul("tvm.contrib.mps.matmul", lhs, rhs, transa, transb)


def conv2d(data: Tensor, weight: Tensor, pad: str = "SAME", stride: int = 1) -> Tensor:
    """Convolution of (n, h, w, c) with (o, h, w, i)."""
    if pad not in ("SAME", "VALID"):
        raise ValueError(f"pad is SAME or VALID, not {pad}")
    batch, height, width, _ = data.shape
    out_channels, kernel_h, kernel_w, _ = weight.shape
    if pad == "SAME":
        out_h, out_w = (height + stride - 1) // stride, (width + stride - 1) // stride
    else:
        out_h, out_w = (height - kernel_h) // stride + 1, (width - kernel_w) // stride + 1
    shape = (batch, out_h, out_w, out_channels)
    return _extern.library_call("tvm.contrib.mps.conv2d", shape, [data, weight], 0 if pad == "SAME" else 1, stride)
