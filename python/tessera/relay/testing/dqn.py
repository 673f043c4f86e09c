"""A network that plays games (Mnih et al., 2015)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import conv2d, conv_kernel_layout, dense_add_bias

__all__ = ["get_net", "get_workload"]


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """The network as a function of "data" and its parameters."""
    out: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for index, (channels, kernel, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        out = conv2d(
            out,
            kernel_size=(kernel, kernel),
            strides=(stride, stride),
            padding=(0, 0),
            channels=channels,
            name=f"conv{index}",
            data_layout=layout,
            kernel_layout=conv_kernel_layout(layout),
        )
        out = _op.nn.relu(_op.nn.bias_add(out, var(f"conv{index}_bias"), axis=layout.index("C")))
    out = _op.nn.batch_flatten(out)
    out = _op.nn.relu(dense_add_bias(out, units=512, name="dense1"))
    out = dense_add_bias(out, units=num_actions, name="dense2")
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
