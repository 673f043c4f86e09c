"""Residual networks with the activation before the convolution (He et al., 2016), of two or three dimensions."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv3d, conv_kernel_layout, dense_add_bias

__all__ = ["get_net", "get_workload", "residual_unit", "resnet"]

_EPSILON = 2e-5
_UNITS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
    200: [3, 24, 36, 3],
    269: [3, 30, 48, 8],
}


class _Layers:
    """Convolutions and pools of as many dimensions as the layout has."""

    def __init__(self, layout: str):
        self.layout, self.kernel_layout = layout, conv_kernel_layout(layout)
        self.rank = len(layout) - 2
        self.channel_axis = layout.index("C")
        self.max_pool = _op.nn.max_pool2d if self.rank == 2 else _op.nn.max_pool3d
        self.global_avg_pool = _op.nn.global_avg_pool2d if self.rank == 2 else _op.nn.global_avg_pool3d

    def conv(self, data: Expr, channels: int, kernel: Any, stride: Any, pad: Any, name: str) -> Expr:
        conv = conv2d if self.rank == 2 else conv3d
        return conv(
            data=data,
            channels=channels,
            kernel_size=self.each(kernel),
            strides=self.each(stride),
            padding=self.each(pad),
            name=name,
            data_layout=self.layout,
            kernel_layout=self.kernel_layout,
        )

    def norm(self, data: Expr, name: str, **kwargs: Any) -> Expr:
        return batch_norm_infer(data=data, epsilon=_EPSILON, axis=self.channel_axis, name=name, **kwargs)

    def norm_relu(self, data: Expr, name: str) -> Expr:
        return _op.nn.relu(data=self.norm(data, name))

    def each(self, value: Any) -> tuple[int, ...]:
        return value if isinstance(value, tuple) else (value,) * self.rank


def _unit(layers: _Layers, data: Expr, channels: int, stride: int, is_same: bool, name: str, bottle_neck: bool) -> Expr:
    first = _op.nn.relu(data=layers.norm(data, name + "_bn1"))
    if bottle_neck:
        inner = channels // 4
        out = layers.conv(first, inner, 1, 1 if layers.rank == 2 else stride, 0, name + "_conv1")
        out = layers.norm_relu(out, name + "_bn2")
        out = layers.conv(out, inner, 3, stride if layers.rank == 2 else 1, 1, name + "_conv2")
        out = layers.norm_relu(out, name + "_bn3")
        out = layers.conv(out, channels, 1, 1, 0, name + "_conv3")
    else:
        out = layers.conv(first, channels, 3, stride, 1, name + "_conv1")
        out = layers.norm_relu(out, name + "_bn2")
        out = layers.conv(out, channels, 3, 1, 1, name + "_conv2")
    shortcut = data if is_same else layers.conv(first, channels, 1, stride, 0, name + "_sc")
    return _op.add(out, shortcut)


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: Any,
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
) -> Expr:
    """One unit: two or three convolutions beside a shortcut, which is the data itself where `dim_match` says so."""
    del kernel_layout  # the data's layout says it
    return _unit(_Layers(data_layout), data, num_filter, stride, dim_match, name, bottle_neck)


def resnet(
    units: list[int],
    num_stages: int,
    filter_list: list[int],
    num_classes: int,
    data_shape: tuple[int, ...],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The network of `num_stages` stages with `units` units each; `filter_list` are the channels before each stage."""
    if len(units) != num_stages:
        raise ValueError(f"{num_stages} stages need as many numbers of units, got {units}")
    layers = _Layers(layout)
    height = data_shape[layout.index("H")]
    out = layers.norm(var("data", shape=data_shape, dtype=dtype), "bn_data", scale=False)
    if height <= 32:  # small images, such as cifar10's
        out = layers.conv(out, filter_list[0], 3, 1, 1, "conv0")
    else:
        kernel, stride, pad = (7, 2, 3) if layers.rank == 2 else ((3, 7, 7), (1, 2, 2), (1, 3, 3))
        out = layers.conv(out, filter_list[0], kernel, stride, pad, "conv0")
        out = layers.norm_relu(out, "bn0")
        if layers.rank == 2:
            out = layers.max_pool(data=out, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage in range(num_stages):
        for unit in range(units[stage]):
            stride = 1 if stage == 0 or unit else 2
            name = f"stage{stage + 1}_unit{unit + 1}"
            out = _unit(layers, out, filter_list[stage + 1], stride, unit > 0, name, bottle_neck)
    out = layers.norm_relu(out, "bn1")
    out = _op.nn.batch_flatten(data=layers.global_avg_pool(data=out, layout=layout))
    out = _op.nn.softmax(data=dense_add_bias(data=out, units=num_classes, name="fc1"))
    return Function(free_vars(out), out)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """The network of `num_layers` layers as a function of "data" and its parameters."""
    height = image_shape[layout.index("H") - 1]
    if height <= 28:
        num_stages = 3
        if (num_layers - 2) % 9 == 0 and num_layers >= 164:
            units, filters, bottle_neck = [(num_layers - 2) // 9] * 3, [16, 64, 128, 256], True
        elif (num_layers - 2) % 6 == 0 and num_layers < 164:
            units, filters, bottle_neck = [(num_layers - 2) // 6] * 3, [16, 16, 32, 64], False
        else:
            raise ValueError(f"no experiments done on num_layers {num_layers}")
    else:
        num_stages = 4
        if num_layers not in _UNITS:
            raise ValueError(f"no experiments done on num_layers {num_layers}; known are {sorted(_UNITS)}")
        bottle_neck = num_layers >= 50
        filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
        units = _UNITS[num_layers]
    return resnet(units, num_stages, filters, num_classes, (batch_size, *image_shape), bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
