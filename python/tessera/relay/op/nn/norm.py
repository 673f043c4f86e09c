"""Normalisation; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr, TupleWrapper
from .._make import call_op

__all__ = [
    "batch_norm",
    "dropout",
    "dropout_raw",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "lrn",
]


def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper:
    """Normalises by a mean and a variance that are given; the result, the mean and the variance."""
    attrs = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    return TupleWrapper(call_op("nn.batch_norm", [data, gamma, beta, moving_mean, moving_var], attrs), 3)


def layer_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = -1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalises by mean and variance along `axis`."""
    attrs = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    return call_op("nn.layer_norm", [data, gamma, beta], attrs)


def instance_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalises each channel of each sample."""
    attrs = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    return call_op("nn.instance_norm", [data, gamma, beta], attrs)


def group_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    num_groups: int,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalises each group of channels of each sample."""
    attrs = {"num_groups": num_groups, "axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    return call_op("nn.group_norm", [data, gamma, beta], attrs)


def l2_normalize(data: Expr, eps: float, axis: Any = None) -> Call:
    """x over the root of its sum of squares along `axis`, or of `eps` where that is greater."""
    axes = [axis] if isinstance(axis, int) else axis
    return call_op("nn.l2_normalize", [data], {"eps": eps, "axis": axes})


def lrn(data: Expr, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 0.00001, beta: float = 0.75) -> Call:
    """Normalises each element by `size` neighbours along `axis`."""
    return call_op("nn.lrn", [data], {"size": size, "axis": axis, "bias": bias, "alpha": alpha, "beta": beta})


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The data with elements left out while training."""
    return TupleWrapper(dropout_raw(data, rate), 2)[0]


def dropout_raw(data: Expr, rate: float = 0.5) -> Call:
    """A tuple: the data with elements left out, and a mask of those that stayed."""
    return call_op("nn.dropout", [data], {"rate": rate})
