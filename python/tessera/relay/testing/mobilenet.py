"""Networks of separable convolutions (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout, dense_add_bias

__all__ = ["conv_block", "get_workload", "mobile_net", "separable_conv_block"]


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Expr:
    """A convolution, normalised and rectified."""
    out: Expr = conv2d(
        data=data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout),
        name=name + "_conv",
    )
    out = batch_norm_infer(data=out, epsilon=epsilon, axis=layout.index("C"), name=name + "_bn")
    return _op.nn.relu(data=out)


def separable_conv_block(
    data: Expr,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    downsample: bool = False,
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """A convolution of each channel, then one across channels."""
    shape = (depthwise_channels, 1, *kernel_size) if layout == "NCHW" else (*kernel_size, depthwise_channels, 1)
    axis = layout.index("C")
    out = conv2d(
        data=data,
        weight=var(name + "_weight", shape=shape, dtype=dtype),
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel_size,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout, True),
        name=name + "_depthwise_conv1",
    )
    out = _op.nn.relu(data=batch_norm_infer(data=out, epsilon=epsilon, axis=axis, name=name + "_bn1"))
    out = conv2d(
        data=out,
        channels=pointwise_channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout),
        name=name + "_conv2",
    )
    return _op.nn.relu(data=batch_norm_infer(data=out, epsilon=epsilon, axis=axis, name=name + "_bn2"))


def mobile_net(
    num_classes: int = 1000,
    data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network; `alpha` widens it, `is_shallow` leaves the five equal blocks out."""

    def wide(channels: int) -> int:
        return round(channels * alpha)

    # channels in, channels out, halved
    blocks = [
        (32, 64, False),
        (64, 128, True),
        (128, 128, False),
        (128, 256, True),
        (256, 256, False),
        (256, 512, True),
    ]
    blocks += [] if is_shallow else [(512, 512, False)] * 5
    blocks += [(512, 1024, True), (1024, 1024, False)]
    out = conv_block(
        var("data", shape=data_shape, dtype=dtype), "conv_block_1", wide(32), strides=(2, 2), layout=layout
    )
    for index, (first, last, halved) in enumerate(blocks, 1):
        name = f"separable_conv_block_{index}"
        out = separable_conv_block(out, name, wide(first), wide(last), downsample=halved, layout=layout, dtype=dtype)
    out = _op.nn.batch_flatten(data=_op.nn.global_avg_pool2d(data=out, layout=layout))
    out = _op.nn.softmax(data=dense_add_bias(data=out, units=num_classes, name="fc"))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
