"""A neural network over features of every store; not there yet."""

from __future__ import annotations

from typing import Any

from .cost_model import PyCostModel

__all__ = ["MLPModel"]


class MLPModel(PyCostModel):
    """Would learn with PyTorch; it is not there."""

    def __init__(self, *, trainer: Any = None) -> None:
        raise NotImplementedError("MLPModel is not there: use XGBModel, or derive a model of your own from PyCostModel")
