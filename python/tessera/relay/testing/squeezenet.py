"""Small networks of 1x1 convolutions that squeeze and expand (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import conv2d

__all__ = ["get_net", "get_workload"]

# For each version the first convolution, and then fires (squeezed, expanded channels) and pools ("pool").
_VERSIONS: dict[str, tuple[Any, list[Any]]] = {
    "1.0": (
        (96, (7, 7), (3, 3)),
        ["pool", (16, 64), (16, 64), (32, 128), "pool", (32, 128), (48, 192), (48, 192), (64, 256), "pool", (64, 256)],
    ),
    "1.1": (
        (64, (3, 3), (1, 1)),
        ["pool", (16, 64), (16, 64), "pool", (32, 128), (32, 128), "pool", (48, 192), (48, 192), (64, 256), (64, 256)],
    ),
}


def _conv(
    data: Expr, channels: int, kernel: tuple[int, int], padding: tuple[int, int], name: str, **kwargs: Any
) -> Expr:
    out = conv2d(data, channels=channels, kernel_size=kernel, padding=padding, name=name, **kwargs)
    return _op.nn.relu(_op.nn.bias_add(out, var(name + "_bias")))


def _fire(data: Expr, squeezed: int, expanded: int, name: str) -> Expr:
    out = _conv(data, squeezed, (1, 1), (0, 0), f"fire{name}_conv1")
    left = _conv(out, expanded, (1, 1), (0, 0), f"fire{name}_conv2")
    right = _conv(out, expanded, (3, 3), (1, 1), f"fire{name}_conv3")
    return _op.concatenate((left, right), axis=1)


def get_net(batch_size: int, image_shape: tuple[int, ...], num_classes: int, version: str, dtype: str) -> Function:
    """The network of that version as a function of "data" and its parameters."""
    if version not in _VERSIONS:
        raise ValueError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
    (channels, kernel, padding), steps = _VERSIONS[version]
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = _conv(data, channels, kernel, padding, "conv1", strides=(2, 2))
    fires = 0
    for step in steps:
        if step == "pool":
            out = _op.nn.max_pool2d(out, pool_size=(3, 3), strides=(2, 2))
        else:
            fires += 1
            out = _fire(out, step[0], step[1], str(fires))
    out = _op.nn.dropout(out, rate=0.5)
    out = _conv(out, num_classes, (1, 1), (0, 0), "conv_final")
    out = _op.nn.softmax(_op.nn.batch_flatten(_op.nn.global_avg_pool2d(out)))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
