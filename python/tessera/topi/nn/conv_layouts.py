"""Layouts of convolutions, and the pieces that transposed ones are made of."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .. import _ffi_api
from .._records import call_record, const_tuple
from ..utils import get_const_tuple
from .conv import conv2d_transpose_nchw, conv3d_transpose_ncdhw
from .space import dilate, pad
from .utils import get_pad_tuple, get_pad_tuple3d

__all__ = [
    "conv2d_gemm_weight_transform",
    "conv2d_infer_layout",
    "conv2d_transpose_nchw_preprocess",
    "conv2d_winograd_nnpack_weight_transform",
    "conv3d_transpose_ncdhw_preprocess",
    "declaration_conv2d_transpose_impl",
    "declaration_conv3d_transpose_impl",
    "depthwise_conv2d_infer_layout",
    "layout_transform",
    "unpack_NCHWc_to_nchw",
]


def conv2d_gemm_weight_transform(kernel: Tensor, tile_rows: int, tile_cols: int) -> Tensor:
    """A weight (h, w, i, o) as tiles of a matrix: (o / tile_rows, h * w * i / tile_cols, tile_rows, tile_cols)."""
    attrs = {"tile_rows": tile_rows, "tile_cols": tile_cols}
    return call_record("nn.contrib_conv2d_gemm_weight_transform", [kernel], attrs)


def conv2d_winograd_nnpack_weight_transform(kernel: Tensor, convolution_algorithm: int, out_dtype: str) -> Tensor:
    """A weight (o, i, 3, 3) as (o, i, 8, 8)."""
    attrs = {"convolution_algorithm": convolution_algorithm, "out_dtype": out_dtype}
    return call_record("nn.contrib_conv2d_winograd_nnpack_weight_transform", [kernel], attrs)


def layout_transform(tensor: Tensor, current_layout: str, desired_layout: str) -> Tensor:
    """A tensor in another layout of the same plain dimensions."""
    return _ffi_api.layout_transform(tensor, current_layout, desired_layout)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """Blocks of channels (n, c, h, w, i) as (n, c * i, h, w)."""
    n, chunks, height, width, block = get_const_tuple(packed_out.shape)
    return te.compute(
        (n, chunks * block, height, width),
        lambda n, c, y, x: packed_out[n, tir.floordiv(c, block), y, x, tir.floormod(c, block)].astype(out_dtype),
        name="output_unpack",
        tag="injective,unpack_nchwc",
    )


def _blocks(cfg: Any, name: str) -> int:
    """The size of a tile of a configuration."""
    return int(cfg[name].size[-1])


def conv2d_infer_layout(workload: Any, cfg: Any) -> tuple[Any, Any]:
    """Shapes and layouts of the input and the result of a blocked convolution, by its workload and configuration."""
    _, data, kernel, strides, padding, dilation, *_ = workload
    batch, channels, height, width = data[1]
    outs, _, kernel_h, kernel_w = kernel[1]
    return _infer_layout(cfg, (batch, channels, height, width), outs, (kernel_h, kernel_w), strides, padding, dilation)


def depthwise_conv2d_infer_layout(workload: Any, cfg: Any) -> tuple[Any, Any]:
    """The same for a depthwise convolution, whose kernel is (channels, multiplier, h, w)."""
    _, data, kernel, strides, padding, dilation, *_ = workload
    batch, channels, height, width = data[1]
    filters, multiplier, kernel_h, kernel_w = kernel[1]
    return _infer_layout(
        cfg, (batch, channels, height, width), filters * multiplier, (kernel_h, kernel_w), strides, padding, dilation
    )


def _infer_layout(cfg: Any, data: Any, outs: int, kernel: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    batch, channels, height, width = data
    dilated = [(extent - 1) * step + 1 for extent, step in zip(kernel, const_tuple(dilation, 2))]
    top, left, bottom, right = get_pad_tuple(padding, tuple(dilated))
    steps = const_tuple(strides, 2)
    out_height = (height + top + bottom - dilated[0]) // steps[0] + 1
    out_width = (width + left + right - dilated[1]) // steps[1] + 1
    block_in, block_out = _blocks(cfg, "tile_ic"), _blocks(cfg, "tile_oc")
    source = (batch, channels // block_in, height, width, block_in), f"NCHW{block_in}c"
    result = (batch, outs // block_out, out_height, out_width, block_out), f"NCHW{block_out}c"
    return (source,), (result,)


def _preprocess(data: Tensor, kernel: Tensor, strides: Any, padding: Any, output_padding: Any, spatial: int) -> Any:
    """Data with zeros between and around its elements, and the kernel flipped with its channels exchanged."""
    steps, more = const_tuple(strides, spatial), const_tuple(output_padding, spatial)
    kernel_size = get_const_tuple(kernel.shape)[2:]
    pads = (get_pad_tuple if spatial == 2 else get_pad_tuple3d)(padding, tuple(kernel_size))
    spread = dilate(data, [1, 1, *steps], name="data_dilate")
    before = [0, 0, *(kernel_size[i] - 1 - pads[i] for i in range(spatial))]
    after = [0, 0, *(kernel_size[i] - 1 - pads[i + spatial] + more[i] for i in range(spatial))]
    padded = pad(spread, before, after, name="data_pad")
    shape = get_const_tuple(kernel.shape)

    def flipped(o: Any, i: Any, *at: Any) -> Any:
        return kernel[(i, o, *(extent - 1 - index for extent, index in zip(kernel_size, at)))]

    return padded, te.compute((shape[1], shape[0], *kernel_size), flipped, name="kernel_transform")


def conv2d_transpose_nchw_preprocess(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any
) -> tuple[Tensor, Tensor]:
    """Data and kernel of the plain convolution that a transposed one is."""
    del out_dtype
    return _preprocess(data, kernel, strides, padding, output_padding, 2)


def conv3d_transpose_ncdhw_preprocess(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any
) -> tuple[Tensor, Tensor]:
    """Data and kernel of the plain convolution that a transposed one is."""
    del out_dtype
    return _preprocess(data, kernel, strides, padding, output_padding, 3)


def declaration_conv2d_transpose_impl(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any
) -> Tensor:
    """A transposed convolution over two dimensions."""
    return conv2d_transpose_nchw(data, kernel, strides, padding, out_dtype, output_padding)


def declaration_conv3d_transpose_impl(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any
) -> Tensor:
    """A transposed convolution over three dimensions."""
    return conv3d_transpose_ncdhw(data, kernel, strides, padding, out_dtype, output_padding)
