"""Convolutions."""

from __future__ import annotations

import re
from typing import Any

from tessera.te import Tensor

from .._records import call_record, const_int, const_tuple, result_type
from .utils import get_pad_tuple

__all__ = [
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "correlation_nchw",
    "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
]


def _kernel_reach(weight: Tensor, kernel_layout: str, dilation: tuple[int, ...]) -> list[int]:
    """How far a kernel reaches in each spatial dimension."""
    letters = re.sub(r"\d+[a-z]", "", kernel_layout)
    sizes = [const_int(weight.shape[letters.index(letter)]) for letter in letters if letter in "DHW"]
    order = [letter for letter in letters if letter in "DHW"]
    sizes = [sizes[order.index(letter)] for letter in "DHW" if letter in order]
    return [(size - 1) * step + 1 for size, step in zip(sizes, dilation)]


def _conv(
    data: Tensor,
    weight: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layouts: tuple[str, str],
    out_dtype: str | None,
    groups: int = 1,
    out_layout: str = "",
) -> Tensor:
    spatial = sum(letter in "DHW" for letter in layouts[0])
    steps = const_tuple(dilation, spatial)
    attrs = {
        "strides": const_tuple(stride, spatial),
        "padding": get_pad_tuple(padding, _kernel_reach(weight, layouts[1], steps)),
        "dilation": steps,
        "groups": groups,
        "data_layout": layouts[0],
        "kernel_layout": layouts[1],
        "out_layout": out_layout,
        "out_dtype": result_type(out_dtype),
    }
    return call_record(f"nn.conv{spatial}d", [data, weight], attrs)


_KERNELS = {
    "NCW": "OIW",
    "NWC": "WIO",
    "NCHW": "OIHW",
    "NHWC": "HWIO",
    "HWCN": "HWIO",
    "NCDHW": "OIDHW",
    "NDHWC": "DHWIO",
}


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: Any = None,
    meta_schedule_original_shape: Any = None,
    auto_scheduler_should_rewrite_layout: bool = False,
) -> Tensor:
    """Convolution over as many dimensions as the layout has."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape, auto_scheduler_should_rewrite_layout
    layouts = data_layout, kernel_layout or _KERNELS[data_layout]
    return _conv(inp, filt, stride, padding, dilation, layouts, out_dtype, groups)


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Convolution over one dimension."""
    return conv(data, kernel, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def conv1d_ncw(
    data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, out_dtype: Any = None
) -> Tensor:
    """Convolution of (n, c, w) with (o, i, w)."""
    return _conv(data, kernel, strides, padding, dilation, ("NCW", "OIW"), out_dtype)


def conv1d_nwc(
    data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, out_dtype: Any = None
) -> Tensor:
    """Convolution of (n, w, c) with (w, i, o)."""
    return _conv(data, kernel, strides, padding, dilation, ("NWC", "WIO"), out_dtype)


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Convolution of groups of channels of (n, c, w)."""
    return _conv(data, kernel, strides, padding, dilation, ("NCW", "OIW"), out_dtype, groups)


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Convolution of groups of channels of (n, w, c)."""
    return _conv(data, kernel, strides, padding, dilation, ("NWC", "WIO"), out_dtype, groups)


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Tensor:
    """Convolution over two dimensions."""
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w)."""
    return _conv(Input, Filter, stride, padding, dilation, ("NCHW", "OIHW"), out_dtype)


def conv2d_hwcn(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Convolution of (h, w, c, n) with (h, w, i, o)."""
    return _conv(Input, Filter, stride, padding, dilation, ("HWCN", "HWIO"), out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Convolution of (n, h, w, c) with (h, w, i, o)."""
    del auto_scheduler_rewritten_layout, meta_schedule_original_shape
    return _conv(Input, Filter, stride, padding, dilation, ("NHWC", "HWIO"), out_dtype)


def conv2d_NCHWc(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = "float32",
) -> Tensor:
    """Convolution of blocks of channels with filters in blocks of in and out channels."""
    kernel_layout = f"OIHW{const_int(kernel.shape[4])}i{const_int(kernel.shape[5])}o"
    return _conv(data, kernel, stride, padding, dilation, (layout, kernel_layout), out_dtype, 1, out_layout)


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Convolution channel by channel of (n, c, h, w) with (c, multiplier, h, w)."""
    groups = const_int(Input.shape[1])
    return _conv(Input, Filter, stride, padding, dilation, ("NCHW", "OIHW"), out_dtype, groups)


def depthwise_conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Convolution channel by channel of (n, h, w, c) with (h, w, c, multiplier)."""
    groups = const_int(Input.shape[3])
    return _conv(Input, Filter, stride, padding, dilation, ("NHWC", "HWOI"), out_dtype, groups)


def depthwise_conv2d_NCHWc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = None,
) -> Tensor:
    """Convolution channel by channel of blocks of channels."""
    groups = const_int(Input.shape[1]) * const_int(Input.shape[4])
    kernel_layout = f"OIHW1i{const_int(Filter.shape[5])}o"
    return _conv(Input, Filter, stride, padding, dilation, (layout, kernel_layout), out_dtype, groups, out_layout)


def group_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any = None
) -> Tensor:
    """Convolution of groups of channels of (n, c, h, w)."""
    return _conv(Input, Filter, stride, padding, dilation, ("NCHW", "OIHW"), out_dtype, groups)


def group_conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any = None
) -> Tensor:
    """Convolution of groups of channels of (n, h, w, c)."""
    return _conv(Input, Filter, stride, padding, dilation, ("NHWC", "HWIO"), out_dtype, groups)


def conv3d_ncdhw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any = None
) -> Tensor:
    """Convolution of (n, c, d, h, w) with (o, i, d, h, w)."""
    return _conv(Input, Filter, stride, padding, dilation, ("NCDHW", "OIDHW"), out_dtype, groups)


def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: Any = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_origin_shape: Any = None,
) -> Tensor:
    """Convolution of (n, d, h, w, c) with (d, h, w, i, o)."""
    del auto_scheduler_rewritten_layout, meta_schedule_origin_shape
    return _conv(Input, Filter, stride, padding, dilation, ("NDHWC", "DHWIO"), out_dtype, groups)


def _transposed(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: Any, output_padding: Any, groups: int = 1
) -> Tensor:
    spatial = len(data.shape) - 2
    letters = "DHW"[3 - spatial :]
    kernel_layout = ("IO" if spatial == 2 else "OI") + letters
    attrs = {
        "strides": const_tuple(strides, spatial),
        "padding": get_pad_tuple(padding, _kernel_reach(kernel, kernel_layout, (1,) * spatial)),
        "output_padding": const_tuple(output_padding, spatial),
        "groups": groups,
        "data_layout": f"NC{letters}",
        "kernel_layout": kernel_layout,
        "out_dtype": result_type(out_dtype),
    }
    return call_record(f"nn.conv{spatial}d_transpose", [data, kernel], attrs)


def conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: Any, output_padding: Any
) -> Tensor:
    """Transposed convolution of (n, c, w) with (i, o, w)."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding)


def conv2d_transpose_nchw(
    Input: Tensor, Filter: Tensor, strides: Any, padding: Any, out_dtype: Any, output_padding: Any
) -> Tensor:
    """Transposed convolution of (n, c, h, w) with (i, o, h, w)."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def conv3d_transpose_ncdhw(
    Input: Tensor, Filter: Tensor, strides: Any, padding: Any, out_dtype: Any, output_padding: Any
) -> Tensor:
    """Transposed convolution of (n, c, d, h, w) with (i, o, d, h, w)."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def group_conv2d_transpose_nchw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: Any, output_padding: Any, groups: int
) -> Tensor:
    """Transposed convolution of groups of channels of (n, c, h, w)."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, groups)


def _deformable(
    inputs: list, strides: Any, padding: Any, dilation: Any, parts: int, groups: int, layouts: tuple, out_dtype: Any
) -> Tensor:
    steps = const_tuple(dilation, 2)
    attrs = {
        "strides": const_tuple(strides, 2),
        "padding": get_pad_tuple(padding, _kernel_reach(inputs[2], layouts[1], steps)),
        "dilation": steps,
        "deformable_groups": parts,
        "groups": groups,
        "data_layout": layouts[0],
        "kernel_layout": layouts[1],
        "out_dtype": result_type(out_dtype),
    }
    return call_record("nn.deformable_conv2d", inputs, attrs)


def deformable_conv2d_nchw(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: Any,
) -> Tensor:
    """Convolution of (n, c, h, w) whose kernel elements are moved by an offset each."""
    inputs, layouts = [data, offset, kernel], ("NCHW", "OIHW")
    return _deformable(inputs, strides, padding, dilation, deformable_groups, groups, layouts, out_dtype)


def deformable_conv2d_nhwc(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: Any,
) -> Tensor:
    """Convolution of (n, h, w, c) whose kernel elements are moved by an offset each."""
    inputs, layouts = [data, offset, kernel], ("NHWC", "HWIO")
    return _deformable(inputs, strides, padding, dilation, deformable_groups, groups, layouts, out_dtype)


def correlation_nchw(
    data1: Tensor,
    data2: Tensor,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
) -> Tensor:
    """How alike two images are under displacements of the second."""
    attrs = {
        "kernel_size": kernel_size,
        "max_displacement": max_displacement,
        "stride1": stride1,
        "stride2": stride2,
        "padding": const_tuple(padding, 2),
        "is_multiply": is_multiply,
    }
    return call_record("nn.correlation", [data1, data2], attrs)
