"""Convolutions; signatures are v0.10's, with the axes of Winograd's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...expr import Call, Expr
from .._make import call_op, int_tuple

__all__ = [
    "contrib_conv2d_gemm_weight_transform",
    "contrib_conv2d_gemm_without_weight_transform",
    "contrib_conv2d_nchwc",
    "contrib_conv2d_winograd_nnpack_weight_transform",
    "contrib_conv2d_winograd_weight_transform",
    "contrib_conv2d_winograd_without_weight_transform",
    "contrib_conv3d_winograd_weight_transform",
    "contrib_conv3d_winograd_without_weight_transform",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backward_weight",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "correlation",
    "deformable_conv2d",
]

_SPACE = {1: "W", 2: "HW", 3: "DHW"}
_COUNT = {1: "one spatial dimension", 2: "two spatial dimensions", 3: "three spatial dimensions"}


def both_sides(padding: Any, spatial: int) -> tuple[Any, ...]:
    """Padding before all dimensions, then after all: from one value, one per dimension, or all of them."""
    values = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(values) == 1:
        return values * (2 * spatial)
    if len(values) == spatial:
        return values + values
    if len(values) == 2 * spatial:
        return values
    raise ValueError(f"padding takes 1, {spatial} or {2 * spatial} values, got {len(values)}")


def window_attrs(spatial: int, attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes with one number per dimension for each window, and padding for both sides."""
    for name in ("strides", "dilation", "dilations", "kernel_size", "pool_size", "output_padding"):
        if attrs.get(name) is not None:
            attrs[name] = int_tuple(attrs[name], spatial)
    attrs["padding"] = both_sides(attrs["padding"], spatial)
    return attrs


def _named(function: Callable[..., Call], name: str, doc: str) -> Callable[..., Call]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _conv(name: str, spatial: int, data_layout: str, kernel_layout: str, doc: str) -> Callable[..., Call]:
    """The function of an operator that takes data and filters."""
    one: Any = 1 if spatial == 1 else (1,) * spatial
    none: Any = 0 if spatial == 1 else (0,) * spatial
    default_data, default_kernel = data_layout, kernel_layout

    def function(
        data: Expr,
        weight: Expr,
        strides: Any = one,
        padding: Any = none,
        dilation: Any = one,
        groups: int = 1,
        channels: Any = None,
        kernel_size: Any = None,
        data_layout: str = default_data,
        kernel_layout: str = default_kernel,
        out_layout: str = "",
        out_dtype: str = "",
    ) -> Call:
        attrs = {key: value for key, value in locals().items() if key not in ("data", "weight", "name", "spatial")}
        return call_op(name, [data, weight], window_attrs(spatial, attrs))

    return _named(function, name.removeprefix("nn.").lower(), doc)


def _conv_transpose(spatial: int, kernel_layout: str) -> Callable[..., Call]:
    name, default_kernel = f"nn.conv{spatial}d_transpose", kernel_layout

    def function(
        data: Expr,
        weight: Expr,
        strides: Any = (1,) * spatial,
        padding: Any = (0,) * spatial,
        dilation: Any = (1,) * spatial,
        groups: int = 1,
        channels: Any = None,
        kernel_size: Any = None,
        data_layout: str = f"NC{_SPACE[spatial]}",
        kernel_layout: str = default_kernel,
        out_layout: str = "",
        output_padding: Any = (0,) * spatial,
        out_dtype: str = "",
    ) -> Call:
        attrs = {key: value for key, value in locals().items() if key not in ("data", "weight", "name", "spatial")}
        return call_op(name, [data, weight], window_attrs(spatial, attrs))

    return _named(function, name.removeprefix("nn."), f"Transposed convolution over {_COUNT[spatial]}.")


def _with_kernel(function: Callable[..., Call]) -> Callable[..., Call]:
    """The function with `kernel` as the name of its second parameter."""
    shown = inspect.signature(function)
    parameters = [x.replace(name="kernel") if x.name == "weight" else x for x in shown.parameters.values()]

    @functools.wraps(function)
    def renamed(*args: Any, **named: Any) -> Call:
        if "kernel" in named:
            named["weight"] = named.pop("kernel")
        return function(*args, **named)

    renamed.__dict__["__signature__"] = shown.replace(parameters=parameters)
    return renamed


conv1d, conv2d, conv3d = (
    _conv(f"nn.conv{n}d", n, f"NC{_SPACE[n]}", f"OI{_SPACE[n]}", f"Convolution over {_COUNT[n]}.") for n in (1, 2, 3)
)
contrib_conv2d_nchwc, contrib_depthwise_conv2d_nchwc = (
    _with_kernel(_conv(f"nn.contrib_{kind}_NCHWc", 2, "NCHW8c", "OIHW", "Convolution whose channels lie in blocks."))
    for kind in ("conv2d", "depthwise_conv2d")
)
conv1d_transpose, conv2d_transpose, conv3d_transpose = (
    _conv_transpose(n, layout) for n, layout in ((1, "OIW"), (2, "IOHW"), (3, "OIDHW"))
)


def contrib_conv2d_winograd_weight_transform(weight: Expr, tile_size: int, axes: Sequence[int] = ()) -> Call:
    """The filters of a 3x3 convolution as Winograd's convolution of tiles takes them. `axes`: the
    spatial ones that are transformed."""
    attrs = {"tile_size": tile_size, "axes": axes}
    return call_op("nn.contrib_conv2d_winograd_weight_transform", [weight], attrs)


def contrib_conv2d_winograd_without_weight_transform(
    data: Expr,
    weight: Expr,
    tile_size: int,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
    axes: Sequence[int] = (),
) -> Call:
    """A 3x3 convolution by Winograd's minimal filtering, with filters that have been transformed."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    name = "nn.contrib_conv2d_winograd_without_weight_transform"
    return call_op(name, [data, weight], window_attrs(2, attrs))


def contrib_conv3d_winograd_weight_transform(weight: Expr, tile_size: int, axes: Sequence[int] = ()) -> Call:
    """The filters of a convolution over three dimensions as Winograd's convolution of tiles takes them. `axes`: the
    spatial ones that are transformed."""
    attrs = {"tile_size": tile_size, "axes": axes}
    return call_op("nn.contrib_conv3d_winograd_weight_transform", [weight], attrs)


def contrib_conv3d_winograd_without_weight_transform(
    data: Expr,
    weight: Expr,
    tile_size: int,
    strides: Any = (1, 1, 1),
    padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1),
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str = "",
    out_dtype: str = "",
    axes: Sequence[int] = (),
) -> Call:
    """A convolution over three dimensions by Winograd's minimal filtering, with filters that have been transformed."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    name = "nn.contrib_conv3d_winograd_without_weight_transform"
    return call_op(name, [data, weight], window_attrs(3, attrs))


def contrib_conv2d_winograd_nnpack_weight_transform(
    weight: Expr, convolution_algorithm: int, out_dtype: str = ""
) -> Call:
    """The filters of a 3x3 convolution for tiles of 6x6 results: (out, in, 8, 8)."""
    attrs = {"convolution_algorithm": convolution_algorithm, "out_dtype": out_dtype}
    return call_op("nn.contrib_conv2d_winograd_nnpack_weight_transform", [weight], attrs)


def contrib_conv2d_gemm_weight_transform(weights: Expr, tile_rows: int, tile_cols: int) -> Call:
    """Filters (height, width, in, out) as tiles of a matrix."""
    attrs = {"tile_rows": tile_rows, "tile_cols": tile_cols}
    return call_op("nn.contrib_conv2d_gemm_weight_transform", [weights], attrs)


def contrib_conv2d_gemm_without_weight_transform(
    data: Expr,
    weight: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """A convolution of NHWC data as a matmul, with filters that have been transformed."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    return call_op("nn.contrib_conv2d_gemm_without_weight_transform", [data, weight], window_attrs(2, attrs))


def conv2d_backward_weight(
    grad: Expr,
    data: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    grad_layout: str = "NCHW",
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_dtype: str = "",
) -> Call:
    """The gradient of a convolution by its weight."""
    attrs = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "channels": channels,
        "kernel_size": kernel_size,
        "data_layout": grad_layout,
        "kernel_layout": data_layout,
        "out_layout": kernel_layout,
        "out_dtype": out_dtype,
    }
    return call_op("nn.conv2d_backward_weight", [grad, data], window_attrs(2, attrs))


def deformable_conv2d(
    data: Expr,
    offset: Expr,
    weight: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    deformable_groups: int = 1,
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Convolution whose kernel elements are moved by an offset each."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "offset", "weight")}
    return call_op("nn.deformable_conv2d", [data, offset, weight], window_attrs(2, attrs))


def correlation(
    data1: Expr,
    data2: Expr,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
    layout: str,
) -> Call:
    """How alike two images are under displacements of the second."""
    attrs = {
        "kernel_size": kernel_size,
        "max_displacement": max_displacement,
        "stride1": stride1,
        "stride2": stride2,
        "padding": (padding, padding) if isinstance(padding, int) else padding,
        "is_multiply": is_multiply,
        "layout": layout,
    }
    return call_op("nn.correlation", [data1, data2], attrs)
