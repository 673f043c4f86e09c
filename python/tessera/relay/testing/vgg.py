"""Plain deep convolutional networks (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias

__all__ = ["get_classifier", "get_feature", "get_net", "get_workload"]

_FILTERS = [64, 128, 256, 512, 512]
_LAYERS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}


def get_feature(internal_layer: Expr, layers: list[int], filters: list[int], batch_norm: bool = False) -> Expr:
    """The stages of convolutions, each ending in a pool."""
    out: Expr = internal_layer
    for stage, count in enumerate(layers, 1):
        for index in range(1, count + 1):
            name = f"conv{stage}_{index}"
            out = conv2d(data=out, kernel_size=(3, 3), padding=(1, 1), channels=filters[stage - 1], name=name)
            out = _op.nn.bias_add(out, var(name + "_bias"))
            if batch_norm:
                out = batch_norm_infer(data=out, name=f"bn{stage}_{index}")
            out = _op.nn.relu(data=out)
        out = _op.nn.max_pool2d(data=out, pool_size=(2, 2), strides=(2, 2))
    return out


def get_classifier(input_data: Expr, num_classes: int) -> Expr:
    """The three linear layers at the end."""
    out: Expr = _op.nn.batch_flatten(data=input_data)
    for name in ("fc6", "fc7"):
        out = dense_add_bias(data=out, units=4096, name=name)
        out = _op.nn.dropout(data=_op.nn.relu(data=out), rate=0.5)
    return dense_add_bias(data=out, units=num_classes, name="fc8")


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """The network of `num_layers` layers as a function of "data" and its parameters."""
    if num_layers not in _LAYERS:
        raise ValueError(f"Invalid num_layers {num_layers}. Choices are 11,13,16,19.")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = get_classifier(get_feature(data, _LAYERS[num_layers], _FILTERS, batch_norm), num_classes)
    out = _op.nn.softmax(data=out)
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
