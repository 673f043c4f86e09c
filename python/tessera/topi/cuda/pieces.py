"""Pieces of computes for GPUs that scripts use by themselves."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from ...tir.op_calls import call_intrin
from .. import _ffi_api, nn
from ..utils import get_const_tuple

__all__ = ["atomic_add", "conv2d_transpose_cudnn", "unpack_HWNCnc_to_hwnc"]


def atomic_add(x: Any, y: Any) -> Any:
    """An addition to memory at the address `x` that no other thread comes between; its value is that before."""
    return call_intrin(y.dtype, "tir.atomic_add", x, y)


def unpack_HWNCnc_to_hwnc(packed_out: Tensor, out_dtype: str) -> Tensor:
    """Blocks of images and channels (h, w, n, c, i, j) as (h, w, n * i, c * j)."""
    height, width, images, channels, inner_n, inner_c = get_const_tuple(packed_out.shape)
    return te.compute(
        (height, width, images * inner_n, channels * inner_c),
        lambda y, x, n, c: packed_out[
            y, x, tir.floordiv(n, inner_n), tir.floordiv(c, inner_c), tir.floormod(n, inner_n), tir.floormod(c, inner_c)
        ].astype(out_dtype),
        name="output_unpack",
        tag="injective,unpack_hwncc",
    )


def conv2d_transpose_cudnn(
    x: Tensor,
    w: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str,
    output_padding: Any = (0, 0),
    layout: str = "NCHW",
    groups: int = 1,
) -> Tensor:
    """A transposed convolution of data in a layout, with a weight (i, o, h, w)."""
    if layout == "NCHW":
        return nn.group_conv2d_transpose_nchw(x, w, stride, padding, out_dtype, output_padding, groups)
    plain = _ffi_api.layout_transform(x, layout, "NCHW")
    out = nn.group_conv2d_transpose_nchw(plain, w, stride, padding, out_dtype, output_padding, groups)
    return _ffi_api.layout_transform(out, "NCHW", layout)
