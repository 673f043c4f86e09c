"""Activations, normalisation, losses."""

from __future__ import annotations

from tessera.te import Tensor

from .. import _ffi_api
from .._records import call_record

__all__ = [
    "batch_norm",
    "fast_softmax",
    "flatten",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "nll_loss",
    "prelu",
    "relu",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "softmax",
    "softmax_common",
]


def relu(x: Tensor) -> Tensor:
    """max(x, 0)."""
    return call_record("nn.relu", [x])


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """x where it is positive, else alpha * x."""
    return call_record("nn.leaky_relu", [x], {"alpha": alpha})


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """x where it is positive, else slope * x with one slope for each slice along `axis`."""
    return call_record("nn.prelu", [x, slope], {"axis": axis})


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) over its sum along `axis`."""
    return call_record("nn.softmax", [x], {"axis": axis})


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """softmax, quicker and less exact."""
    return call_record("nn.fast_softmax", [x], {"axis": axis})


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Tensor:
    """softmax, with the quicker and less exact exponential where asked for."""
    return fast_softmax(x, axis) if use_fast_exp else softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return call_record("nn.log_softmax", [x], {"axis": axis})


def flatten(data: Tensor) -> Tensor:
    """All dimensions but the first become one."""
    return call_record("nn.batch_flatten", [data])


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """Normalises each element by `size` neighbours along `axis`."""
    return call_record("nn.lrn", [data], {"size": size, "axis": axis, "alpha": alpha, "beta": beta, "bias": bias})


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
) -> list[Tensor]:
    """Normalises by a mean and a variance that are given; the result, the mean and the variance."""
    given = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    attrs = {name: value for name, value in given.items() if value is not None}
    return call_record("nn.batch_norm", [data, gamma, beta, moving_mean, moving_var], attrs)


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int) -> Tensor:
    """Minus the log-probability of the right class, weighted by class."""
    attrs = {"reduction": reduction, "ignore_index": ignore_index}
    return call_record("nn.nll_loss", [predictions, targets, weights], attrs)


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input * Scale + Shift with one value of each for each channel of (n, c, h, w)."""
    return _ffi_api.nn_scale_shift(Input, Scale, Shift, [1])


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input * Scale + Shift with one value of each for each channel of (n, h, w, c)."""
    return _ffi_api.nn_scale_shift(Input, Scale, Shift, [3])


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input * Scale + Shift with one value of each for each channel of (n, c, h, w, block)."""
    return _ffi_api.nn_scale_shift(Input, Scale, Shift, [1, 4])
