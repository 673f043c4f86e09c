"""Pooling."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from .._records import call_record, const_tuple

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "global_pool",
    "pool1d",
    "pool2d",
    "pool3d",
    "pool_grad",
]


def _kind(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"pool_type is {pool_type}, but must be max or avg")
    return pool_type


def _pool(
    spatial: int,
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
) -> Tensor:
    attrs: dict[str, Any] = {
        "pool_size": const_tuple(kernel, spatial),
        "strides": const_tuple(stride, spatial),
        "dilation": const_tuple(dilation, spatial),
        "padding": const_tuple(padding, 2 * spatial),
        "layout": layout,
        "ceil_mode": ceil_mode,
    }
    if _kind(pool_type) == "avg":
        attrs["count_include_pad"] = count_include_pad
    return call_record(f"nn.{pool_type}_pool{spatial}d", [data], attrs)


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest element ("max") or the mean ("avg") of each window."""
    return _pool(1, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest element ("max") or the mean ("avg") of each window."""
    return _pool(2, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest element ("max") or the mean ("avg") of each window."""
    return _pool(3, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The gradient of a pool of two dimensions by its data."""
    attrs: dict[str, Any] = {
        "pool_size": const_tuple(kernel, 2),
        "strides": const_tuple(stride, 2),
        "padding": const_tuple(padding, 4),
        "layout": layout,
        "ceil_mode": ceil_mode,
    }
    if _kind(pool_type) == "avg":
        attrs["count_include_pad"] = count_include_pad
    key = f"relay.attrs.{pool_type.title()}Pool2DAttrs"
    return call_record(f"nn.{pool_type}_pool2d_grad", [grads, data], attrs, key)


def _adaptive(spatial: int, data: Tensor, output_size: Any, pool_type: str, layout: str) -> Tensor:
    attrs = {"output_size": const_tuple(output_size, spatial), "layout": layout}
    return call_record(f"nn.adaptive_{_kind(pool_type)}_pool{spatial}d", [data], attrs)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """A pool with windows that give `output_size`."""
    return _adaptive(1, data, output_size, pool_type, layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """A pool with windows that give `output_size`."""
    return _adaptive(2, data, output_size, pool_type, layout)


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:
    """A pool with windows that give `output_size`."""
    return _adaptive(3, data, output_size, pool_type, layout)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """A pool of whole channels."""
    return call_record(f"nn.global_{_kind(pool_type)}_pool2d", [data], {"layout": layout})
