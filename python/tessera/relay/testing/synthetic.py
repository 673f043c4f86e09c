"""Two convolutions with an addition between: the smallest network with a fork."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import var
from ..function import Function
from .init import create_workload

__all__ = ["get_net", "get_workload"]


def get_net(input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32", wtype: Any = None) -> Function:
    """The network as a function of "data" and its parameters; `wtype` is the type of the weights."""
    wtype = wtype or dtype
    channels = input_shape[1]
    data = var("data", shape=input_shape, dtype=dtype)
    dense_shape = (channels, input_shape[3])
    first = _op.nn.conv2d(
        data, var("conv_weight", shape=(channels, channels, 3, 3), dtype=wtype), kernel_size=(3, 3), padding=(1, 1)
    )
    dense = _op.nn.dense(_op.reshape(data, (-1, input_shape[3])), var("dense_weight", shape=dense_shape, dtype=wtype))
    added = _op.add(_op.nn.relu(first), var("bias", shape=(channels, 1, 1), dtype=dtype))
    total = _op.add(_op.sum(added, axis=(2, 3)), _op.mean(_op.reshape(dense, (input_shape[0], -1, channels)), axis=1))
    return Function(free_vars(total), total)


def get_workload(input_shape: tuple[int, ...] = (1, 3, 24, 12), dtype: str = "float32", wtype: Any = None) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
