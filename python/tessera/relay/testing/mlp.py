"""A network of three linear layers."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import dense_add_bias

__all__ = ["get_net", "get_workload"]


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """The network as a function of "data" and its parameters."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out: Expr = _op.nn.batch_flatten(data)
    for index, units in enumerate((128, 64), 1):
        out = _op.nn.relu(dense_add_bias(out, units=units, name=f"fc{index}"))
    out = _op.nn.softmax(data=dense_add_bias(out, units=num_classes, name="fc3"))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
