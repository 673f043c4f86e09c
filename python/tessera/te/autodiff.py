"""Derivatives of tensor programs."""

from __future__ import annotations

from typing import Any

from . import _ffi_api
from .tensor import Tensor


def gradient(output: Tensor, inputs: Tensor | list[Tensor], head: Tensor | None = None) -> Any:
    """The derivatives of `output` by each of `inputs`, as tensors in the same order.

    `head` is the derivative of a later value by `output`: it has the axes of `output` last, any others before them, and
    is multiplied from the left. Without one the results are whole Jacobians, of shape output.shape + input.shape.
    """
    if not isinstance(inputs, list):
        inputs = [inputs]
    return _ffi_api.Gradient(output, inputs, head)
