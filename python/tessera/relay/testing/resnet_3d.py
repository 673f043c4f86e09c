"""Residual networks for videos: `resnet` with three dimensions."""

from __future__ import annotations

from typing import Any

from . import resnet as _resnet
from .init import create_workload

__all__ = ["get_net", "get_workload", "residual_unit", "resnet"]


def residual_unit(
    data: Any,
    num_filter: int,
    stride: Any,
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
) -> Any:
    """One unit: two or three convolutions beside a shortcut, which is the data itself where `dim_match` says so."""
    return _resnet.residual_unit(data, num_filter, stride, dim_match, name, bottle_neck, data_layout, kernel_layout)


def resnet(
    units: list[int],
    num_stages: int,
    filter_list: list[int],
    num_classes: int,
    data_shape: tuple[int, ...],
    bottle_neck: bool = True,
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Any:
    """The network of `num_stages` stages with `units` units each; `filter_list` are the channels before each stage."""
    return _resnet.resnet(units, num_stages, filter_list, num_classes, data_shape, bottle_neck, layout, dtype)


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
