"""Neural-network operators; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr
from .._make import call_op, int_tuple

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_flatten",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv3d",
    "dense",
    "global_avg_pool2d",
    "global_max_pool2d",
    "leaky_relu",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "relu",
    "softmax",
]


def _both_sides(padding: Any, spatial: int) -> tuple[Any, ...]:
    """Padding before all dimensions, then after all: from one value, one per dimension, or all of them."""
    values = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(values) == 1:
        return values * (2 * spatial)
    if len(values) == spatial:
        return values + values
    if len(values) == 2 * spatial:
        return values
    raise ValueError(f"padding takes 1, {spatial} or {2 * spatial} values, got {len(values)}")


def _conv(spatial: int, data: Expr, weight: Expr, **attrs: Any) -> Call:
    attrs["strides"] = int_tuple(attrs["strides"], spatial)
    attrs["dilation"] = int_tuple(attrs["dilation"], spatial)
    attrs["padding"] = _both_sides(attrs["padding"], spatial)
    if attrs["kernel_size"] is not None:
        attrs["kernel_size"] = int_tuple(attrs["kernel_size"], spatial)
    return call_op(f"nn.conv{spatial}d", [data, weight], attrs)


def conv1d(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: Any = None,
    kernel_size: Any = None,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Convolution over one spatial dimension."""
    return _conv(1, **locals())


def conv2d(
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
    """Convolution over two spatial dimensions."""
    return _conv(2, **locals())


def conv3d(
    data: Expr,
    weight: Expr,
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
) -> Call:
    """Convolution over three spatial dimensions."""
    return _conv(3, **locals())


def _pool(kind: str, spatial: int, data: Expr, **attrs: Any) -> Call:
    for name in ("pool_size", "strides", "dilation"):
        attrs[name] = int_tuple(attrs[name], spatial)
    attrs["padding"] = _both_sides(attrs["padding"], spatial)
    return call_op(f"nn.{kind}_pool{spatial}d", [data], attrs)


def max_pool1d(
    data: Expr,
    pool_size: Any = (1,),
    strides: Any = (1,),
    dilation: Any = (1,),
    padding: Any = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return _pool("max", 1, **locals())


def max_pool2d(
    data: Expr,
    pool_size: Any = (1, 1),
    strides: Any = (1, 1),
    dilation: Any = (1, 1),
    padding: Any = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return _pool("max", 2, **locals())


def max_pool3d(
    data: Expr,
    pool_size: Any = (1, 1, 1),
    strides: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    padding: Any = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return _pool("max", 3, **locals())


def avg_pool1d(
    data: Expr,
    pool_size: Any = (1,),
    strides: Any = (1,),
    dilation: Any = (1,),
    padding: Any = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return _pool("avg", 1, **locals())


def avg_pool2d(
    data: Expr,
    pool_size: Any = (1, 1),
    strides: Any = (1, 1),
    dilation: Any = (1, 1),
    padding: Any = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return _pool("avg", 2, **locals())


def avg_pool3d(
    data: Expr,
    pool_size: Any = (1, 1, 1),
    strides: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    padding: Any = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return _pool("avg", 3, **locals())


def global_max_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
    """The greatest element of each channel."""
    return call_op("nn.global_max_pool2d", [data], {"layout": layout, "out_layout": out_layout})


def global_avg_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
    """The mean of each channel."""
    return call_op("nn.global_avg_pool2d", [data], {"layout": layout, "out_layout": out_layout})


def dense(data: Expr, weight: Expr, units: Any = None, out_dtype: str = "") -> Call:
    """Linear layer: out[..., n] = sum over k of data[..., k] * weight[n, k]."""
    return call_op("nn.dense", [data, weight], {"units": units, "out_dtype": out_dtype})


def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call:
    """Adds one value to each slice along `axis`."""
    return call_op("nn.bias_add", [data, bias], {"axis": axis})


def relu(data: Expr) -> Call:
    """max(x, 0)."""
    return call_op("nn.relu", [data])


def leaky_relu(data: Expr, alpha: float = 0.01) -> Call:
    """x where it is positive, else alpha * x."""
    return call_op("nn.leaky_relu", [data], {"alpha": alpha})


def softmax(data: Expr, axis: int = -1) -> Call:
    """exp(x) over its sum along `axis`."""
    return call_op("nn.softmax", [data], {"axis": axis})


def log_softmax(data: Expr, axis: int = -1) -> Call:
    """The logarithm of softmax."""
    return call_op("nn.log_softmax", [data], {"axis": axis})


def batch_flatten(data: Expr) -> Call:
    """All dimensions but the first become one."""
    return call_op("nn.batch_flatten", [data])
