"""Networks in which a layer sees all that came before it (Huang et al., 2016)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias

__all__ = ["get_workload"]

# channels of the first convolution, channels that a layer adds, layers of each block
_SIZES = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def _norm_relu(data: Expr, name: str) -> Expr:
    return _op.nn.relu(batch_norm_infer(data, name=name))


def _layer(data: Expr, growth: int, bottle: int, name: str) -> Expr:
    out = _norm_relu(data, name + "_bn1")
    out = conv2d(out, channels=bottle * growth, kernel_size=(1, 1), name=name + "_conv1")
    out = _norm_relu(out, name + "_bn2")
    return conv2d(out, channels=growth, kernel_size=(3, 3), padding=(1, 1), name=name + "_conv2")


def _net(size: int, classes: int, data_shape: tuple[int, ...], dtype: str, bottle: int = 4) -> Function:
    if size not in _SIZES:
        raise ValueError(f"no densenet of size {size} is known; known are {sorted(_SIZES)}")
    channels, growth, blocks = _SIZES[size]
    data = var("data", shape=data_shape, dtype=dtype)
    out: Expr = conv2d(data, channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1")
    out = _norm_relu(out, "batch_norm1")
    out = _op.nn.max_pool2d(out, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(blocks):
        parts: list[Expr] = [out]
        for layer in range(count):
            concatenated = parts[0] if len(parts) == 1 else _op.concatenate(parts, axis=1)
            parts.append(_layer(concatenated, growth, bottle, f"block{block}_layer{layer}"))
        out = _op.concatenate(parts, axis=1)
        channels += count * growth
        if block + 1 < len(blocks):
            channels //= 2
            out = _norm_relu(out, f"transition{block}_bn")
            out = conv2d(out, channels=channels, kernel_size=(1, 1), name=f"transition{block}_conv")
            out = _op.nn.avg_pool2d(out, pool_size=(2, 2), strides=(2, 2))
    out = _norm_relu(out, "batch_norm2")
    out = _op.nn.batch_flatten(_op.nn.global_avg_pool2d(out))
    out = dense_add_bias(out, units=classes, name="dense")
    return Function(free_vars(out), out)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(_net(densenet_size, classes, (batch_size, *image_shape), dtype))
