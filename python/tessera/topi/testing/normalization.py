"""Matmuls, normalisation, losses."""

from __future__ import annotations

from typing import Any

import numpy as np


def batch_matmul(
    x: Any, y: Any, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> np.ndarray:
    """x @ y of each pair, either transposed; one batch goes with all."""
    a = np.swapaxes(x, -1, -2) if trans_x else x
    b = np.swapaxes(y, -1, -2) if trans_y else y
    dtype = out_dtype or np.result_type(x, y)
    return np.matmul(a.astype(dtype), b.astype(dtype))


def dense(
    x: Any, y: Any, bias: Any, use_bias: bool = False, use_relu: bool = False, out_dtype: str | None = None
) -> np.ndarray:
    """x @ y.T (+ bias)."""
    dtype = out_dtype or np.result_type(x, y)
    out = x.astype(dtype) @ y.astype(dtype).T
    out = out + bias if use_bias else out
    return np.maximum(out, 0) if use_relu else out


def _along(values: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    shape = [1] * ndim
    shape[axis] = -1
    return values.reshape(shape)


def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
) -> list[np.ndarray]:
    """[normalised data, mean, variance]."""
    out = x - _along(moving_mean, axis, x.ndim)
    out = out / np.sqrt(_along(moving_var, axis, x.ndim) + epsilon)
    out = out * _along(gamma, axis, x.ndim) if scale else out
    out = out + _along(beta, axis, x.ndim) if center else out
    return [out.astype(x.dtype), moving_mean, moving_var]


def softmax_python(a_np: Any, axis: int = 1) -> np.ndarray:
    """exp(x) / sum(exp(x))."""
    powers = np.exp(a_np - a_np.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_python(a_np: Any, axis: int = 1) -> np.ndarray:
    """Its logarithm."""
    shifted = a_np - a_np.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def l2_normalize_python(a_np: Any, eps: float, axis: Any = None) -> np.ndarray:
    """Divided by the length over some axes, or over all."""
    axes = tuple(range(a_np.ndim)) if axis is None else tuple(axis) if hasattr(axis, "__len__") else (axis,)
    return a_np / np.sqrt(np.maximum((a_np * a_np).sum(axes, keepdims=True), eps))


def lrn_python(a_np: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> np.ndarray:
    """x / (bias + alpha / size * sum of the squares of `size` neighbours) ** beta."""
    x = np.moveaxis(a_np, axis, 0)
    half = size // 2
    squares = np.pad(x * x, [(half, half)] + [(0, 0)] * (x.ndim - 1))
    total = sum(squares[i : i + x.shape[0]] for i in range(size))
    return np.moveaxis(x / (bias + alpha / size * total) ** beta, 0, axis)


def nll_loss(
    predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100
) -> np.ndarray:
    """The negated, weighted scores of the targets; their mean by weight, their sum, or all of them ("none")."""
    rows, wanted = (predictions[None], targets[None]) if predictions.ndim == 1 else (predictions, targets)
    classes = np.clip(wanted, 0, None)
    picked = np.take_along_axis(rows, classes[:, None], 1)[:, 0]
    shares = np.where(wanted == ignore_index, 0, weights[classes])
    loss = np.where(wanted == ignore_index, 0, -picked * shares)
    if reduction == "none":
        return (loss[0] if predictions.ndim == 1 else loss).astype(predictions.dtype)
    return np.asarray(loss.sum() / (shares.sum() if reduction == "mean" else 1), predictions.dtype)
