"""Looking at what a run gave."""

from __future__ import annotations

import numpy as np

from .model import TVMCResult

__all__ = ["get_top_results"]


def get_top_results(result: TVMCResult, max_results: int) -> np.ndarray:
    """The greatest elements of the first output: a row of their indices and a row of their values, the greatest first."""
    values = np.ravel(result.outputs["output_0"])
    order = np.argsort(-values, kind="stable")[:max_results] if values.size else np.zeros(0, int)
    return np.array([order, values[order]])
