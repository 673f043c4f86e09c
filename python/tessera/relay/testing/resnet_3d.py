"""Residual networks for videos: `resnet` with three dimensions."""

from __future__ import annotations

from typing import Any

from . import resnet as _resnet
from .init import create_workload

__all__ = ["get_net", "get_workload"]


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Any:
    """The network of `num_layers` layers as a function of "data" and its parameters."""
    return _resnet.get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
