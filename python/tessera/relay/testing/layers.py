"""Layers of networks: an operator with variables named after the layer."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..expr import Call, Expr, var

__all__ = ["batch_norm_infer", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv_kernel_layout", "dense_add_bias"]

_PAIRS = {
    "NCHW": "OIHW",
    "NHWC": "HWIO",
    "NCDHW": "OIDHW",
    "NDHWC": "DHWIO",
    "NCW": "OIW",
    "NWC": "WIO",
}


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of the weight that goes with a layout of the data."""
    if data_layout not in _PAIRS:
        raise ValueError(f"no kernel layout is known for the data layout {data_layout}")
    if data_layout == "NHWC" and is_depthwise:
        return "HWOI"
    return _PAIRS[data_layout]


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    **kwargs: Any,
) -> Expr:
    """Batch normalisation as inference does it: the normalised tensor alone."""
    name = kwargs.pop("name")
    return _op.nn.batch_norm(
        data,
        gamma=gamma or var(name + "_gamma"),
        beta=beta or var(name + "_beta"),
        moving_mean=moving_mean or var(name + "_moving_mean"),
        moving_var=moving_var or var(name + "_moving_var"),
        **kwargs,
    )[0]


def _weighted(operator: Any, data: Expr, weight: Expr | None, kwargs: dict[str, Any]) -> Call:
    name = kwargs.pop("name")
    return operator(data, weight if weight is not None else var(name + "_weight"), **kwargs)


def conv1d(data: Expr, weight: Expr | None = None, **kwargs: Any) -> Call:
    """A convolution over one dimension; `name` names its weight."""
    return _weighted(_op.nn.conv1d, data, weight, kwargs)


def conv2d(data: Expr, weight: Expr | None = None, **kwargs: Any) -> Call:
    """A convolution over two dimensions; `name` names its weight."""
    return _weighted(_op.nn.conv2d, data, weight, kwargs)


def conv3d(data: Expr, weight: Expr | None = None, **kwargs: Any) -> Call:
    """A convolution over three dimensions; `name` names its weight."""
    return _weighted(_op.nn.conv3d, data, weight, kwargs)


def conv2d_transpose(data: Expr, weight: Expr | None = None, **kwargs: Any) -> Call:
    """A transposed convolution over two dimensions; `name` names its weight."""
    return _weighted(_op.nn.conv2d_transpose, data, weight, kwargs)


def dense_add_bias(
    data: Expr, weight: Expr | None = None, bias: Expr | None = None, units: int | None = None, **kwargs: Any
) -> Call:
    """A linear layer with a bias; `name` names both."""
    name = kwargs.pop("name")
    out = _op.nn.dense(data, weight if weight is not None else var(name + "_weight"), units, **kwargs)
    return _op.nn.bias_add(out, bias if bias is not None else var(name + "_bias"), axis=-1)
