"""Convolutions and softmax by cuDNN, which the runtime calls where the library is (docs/gpu.md); shapes are computed here."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import get_global_func
from ..te import Tensor
from ..topi.utils import get_const_tuple
from . import _extern

__all__ = [
    "algo_to_index",
    "conv_backward_data",
    "conv_backward_data_find_algo",
    "conv_backward_filter",
    "conv_backward_filter_find_algo",
    "conv_dgrad_shape",
    "conv_forward",
    "conv_forward_find_algo",
    "conv_output_shape",
    "exists",
    "log_softmax",
    "softmax",
]

#: cuDNN's algorithms in the order of their codes.
_ALGORITHMS = {
    "fwd": [
        "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM",
        "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM",
        "CUDNN_CONVOLUTION_FWD_ALGO_GEMM",
        "CUDNN_CONVOLUTION_FWD_ALGO_DIRECT",
        "CUDNN_CONVOLUTION_FWD_ALGO_FFT",
        "CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING",
        "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD",
        "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED",
        "CUDNN_CONVOLUTION_FWD_ALGO_COUNT",
    ],
    "bwd_filter": [
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0",
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1",
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT",
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3",
        "CUDNN_CONVOLUTION_BWD_FILTER_WINOGRAD_NONFUSED",
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING",
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT",
    ],
    "bwd_data": [
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_0",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_1",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED",
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT",
    ],
}
_FORMATS = {0: "NCHW", 1: "NHWC"}


def exists() -> bool:
    """True when cuDNN is on this machine."""
    return bool(get_global_func("tvm.contrib.cudnn.exists")())


def algo_to_index(algo_type: str, algo_name: str) -> int:
    """The code of an algorithm of "fwd", "bwd_filter" or "bwd_data"."""
    names = _ALGORITHMS.get(algo_type, [])
    if algo_name not in names:
        raise ValueError(f"cuDNN has no algorithm {algo_name} of {algo_type}; it has {', '.join(names) or 'none'}")
    return names.index(algo_name)


def _each(values: Any, count: int) -> list[int]:
    """As many numbers as there are spatial dimensions, from one or as many."""
    return [int(values)] * count if isinstance(values, int) else [int(value) for value in get_const_tuple(values)]


def _format(tensor_format: int) -> str:
    if tensor_format not in _FORMATS:
        raise ValueError(f"tensor_format is 0 (NCHW) or 1 (NHWC), not {tensor_format}")
    return _FORMATS[tensor_format]


def _split(shape: Any, layout: str) -> tuple[int, int, list[int]]:
    """First dimension, channels, and spatial extents."""
    extents = [int(extent) for extent in get_const_tuple(shape)]
    return (extents[0], extents[1], extents[2:]) if layout == "NCHW" else (extents[0], extents[-1], extents[1:-1])


def _merge(first: int, channels: int, spatial: list[int], layout: str) -> list[int]:
    return [first, channels, *spatial] if layout == "NCHW" else [first, *spatial, channels]


def conv_output_shape(
    tensor_format: int,
    pad: Any,
    stride: Any,
    dilation: Any,
    x_shape: Any,
    w_shape: Any,
    data_dtype: str,
    conv_dtype: str,
    groups: int = 1,
) -> list[int]:
    """The shape of a convolution's result; weights are (o, i, h, w), or (o, h, w, i) with NHWC."""
    del data_dtype, conv_dtype
    layout = _format(tensor_format)
    batch, channels, spatial = _split(x_shape, layout)
    out_channels, in_channels, kernel_size = _split(w_shape, layout)
    if channels != in_channels * groups:
        raise ValueError(
            f"data has {channels} channels; a weight of {in_channels} in {groups} groups takes {in_channels * groups}"
        )
    numbers = zip(spatial, kernel_size, *(_each(values, len(spatial)) for values in (pad, stride, dilation)))
    sizes = [(x + 2 * p - ((k - 1) * d + 1)) // s + 1 for x, k, p, s, d in numbers]
    return _merge(batch, out_channels, sizes, layout)


def conv_dgrad_shape(
    tensor_format: int,
    pad: Any,
    stride: Any,
    dilation: Any,
    dy_shape: Any,
    w_shape: Any,
    output_padding: Any = (0, 0),
    groups: int = 1,
) -> list[int]:
    """The shape of the data whose convolution has a gradient of `dy_shape`."""
    layout = _format(tensor_format)
    batch, _, spatial = _split(dy_shape, layout)
    _, in_channels, kernel_size = _split(w_shape, layout)
    count = len(spatial)
    numbers = zip(spatial, kernel_size, *(_each(values, count) for values in (pad, stride, dilation, output_padding)))
    sizes = [(x - 1) * s - 2 * p + ((k - 1) * d + 1) + extra for x, k, p, s, d, extra in numbers]
    return _merge(batch, in_channels * groups, sizes, layout)


def _numbers(spatial: int, mode: int, tensor_format: int, algo: int, *lists: Any) -> list[Any]:
    """The arguments before the tensors' strides, as cuDNN's functions take them."""
    return [mode, tensor_format, algo, *(value for values in lists for value in _each(values, spatial))]


def conv_forward(
    x: Tensor,
    w: Tensor,
    pad: Any,
    stride: Any,
    dilation: Any,
    conv_mode: int,
    tensor_format: int,
    algo: int,
    conv_dtype: str | None,
    groups: int = 1,
) -> Tensor:
    """Convolution over two or three dimensions; an `algo` of -1 leaves the choice to cuDNN."""
    spatial = len(x.shape) - 2
    kind = conv_dtype or x.dtype
    shape = conv_output_shape(tensor_format, pad, stride, dilation, x.shape, w.shape, x.dtype, kind, groups)
    numbers = _numbers(spatial, conv_mode, tensor_format, algo, pad, stride, dilation)
    name = f"tvm.contrib.cudnn.conv{spatial}d.forward"
    return _extern.library_call(name, shape, [x, w], kind, groups, before=numbers, out_name="y")


def conv_backward_data(
    dy: Tensor,
    w: Tensor,
    pad: Any,
    stride: Any,
    dilation: Any,
    conv_mode: int,
    tensor_format: int,
    conv_dtype: str | None,
    groups: int = 1,
    output_padding: Any = (0, 0),
) -> Tensor:
    """The gradient of a convolution for its data."""
    kind = conv_dtype or dy.dtype
    shape = conv_dgrad_shape(tensor_format, pad, stride, dilation, dy.shape, w.shape, output_padding, groups)
    numbers = _numbers(2, conv_mode, tensor_format, -1, pad, stride, dilation)
    name = "tvm.contrib.cudnn.conv2d.backward_data"
    return _extern.library_call(name, shape, [dy, w], kind, groups, before=numbers, out_name="dx")


def conv_backward_filter(
    dy: Tensor,
    x: Tensor,
    kernel_size: Any,
    pad: Any,
    stride: Any,
    dilation: Any,
    conv_mode: int,
    tensor_format: int,
    conv_dtype: str | None,
    groups: int = 1,
) -> Tensor:
    """The gradient of a convolution for its weight."""
    layout, kind = _format(tensor_format), conv_dtype or x.dtype
    _, out_channels, _ = _split(dy.shape, layout)
    _, in_channels, _ = _split(x.shape, layout)
    shape = _merge(out_channels, in_channels // groups, _each(kernel_size, 2), layout)
    numbers = _numbers(2, conv_mode, tensor_format, -1, pad, stride, dilation)
    name = "tvm.contrib.cudnn.conv2d.backward_filter"
    return _extern.library_call(name, shape, [dy, x], kind, groups, before=numbers, out_name="dw")


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) over its sum along `axis`."""
    return _extern.library_call("tvm.contrib.cudnn.softmax.forward", x.shape, [x], axis, out_name="y")


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return _extern.library_call("tvm.contrib.cudnn.log_softmax.forward", x.shape, [x], axis, out_name="y")


def _find_algo(kind: str, spatial: int, tensor_format: int, lists: Any, shapes: Any, types: Any, groups: int) -> int:
    """The algorithm that cuDNN finds quickest."""
    numbers = [[*_each(values, spatial)] for values in lists]
    find = get_global_func(f"tvm.contrib.cudnn.conv.{kind}_find_algo")
    return int(find(tensor_format, spatial, *numbers, *(list(shape) for shape in shapes), *types, groups))


def conv_forward_find_algo(
    tensor_format: int,
    pad: Any,
    stride: Any,
    dilation: Any,
    x_shape: Any,
    w_shape: Any,
    y_shape: Any,
    data_dtype: str,
    conv_dtype: str,
    groups: int = 1,
) -> int:
    """The quickest algorithm of a convolution."""
    shapes, lists = (x_shape, w_shape, y_shape), (pad, stride, dilation)
    return _find_algo("forward", len(x_shape) - 2, tensor_format, lists, shapes, (data_dtype, conv_dtype), groups)


def conv_backward_data_find_algo(
    tensor_format: int,
    pad: Any,
    stride: Any,
    dilation: Any,
    dy_shape: Any,
    w_shape: Any,
    dx_shape: Any,
    data_dtype: str,
    conv_dtype: str,
    groups: int = 1,
) -> int:
    """The quickest algorithm of its gradient by the data."""
    shapes, lists = (dy_shape, w_shape, dx_shape), (pad, stride, dilation)
    kind = "backward_data"
    return _find_algo(kind, len(dy_shape) - 2, tensor_format, lists, shapes, (data_dtype, conv_dtype), groups)


def conv_backward_filter_find_algo(
    tensor_format: int,
    pad: Any,
    stride: Any,
    dilation: Any,
    dy_shape: Any,
    x_shape: Any,
    dw_shape: Any,
    data_dtype: str,
    conv_dtype: str,
    groups: int = 1,
) -> int:
    """The quickest algorithm of its gradient by the weight."""
    shapes, lists = (dy_shape, x_shape, dw_shape), (pad, stride, dilation)
    kind = "backward_filter"
    return _find_algo(kind, len(dy_shape) - 2, tensor_format, lists, shapes, (data_dtype, conv_dtype), groups)
