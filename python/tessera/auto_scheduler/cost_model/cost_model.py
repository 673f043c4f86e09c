"""What a cost model is, and one that draws lots."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["CostModel", "PythonBasedModel", "RandomModel", "random_fill_float"]


def random_fill_float(size: int, return_ptr: Any) -> None:
    """Writes `size` random floats to an address."""
    if size:
        values = np.ctypeslib.as_array(ctypes.cast(return_ptr, ctypes.POINTER(ctypes.c_float)), shape=(size,))
        values[:] = np.random.uniform(0, 1, (size,))


class CostModel:
    """Scores of states: higher is faster. What cannot run has a score below -1e10."""

    #: Whether scores say anything, so that searching longer by them makes sense.
    is_random = False

    def update(self, inputs: Any, results: Any) -> None:
        """Learns from what was measured."""

    def predict(self, task: Any, states: Any) -> Any:
        """The score of each state."""
        raise NotImplementedError

    def predict_stages(self, task: Any, states: Any) -> Any:
        """The score of each state, and then, state by state, how many stages have scores and these."""
        raise NotImplementedError("this cost model knows states as a whole only")


class RandomModel(CostModel):
    """Lots."""

    is_random = True

    def update(self, inputs: Any, results: Any) -> None:
        """Learns nothing."""

    def predict(self, search_task: Any, states: Any) -> list[float]:
        """A number between 0 and 1 for each state."""
        return [float(score) for score in np.random.uniform(0, 1, (len(states),))]


class PythonBasedModel(CostModel):
    """A model of a user's own: override `update` and `predict`."""

    def update(self, inputs: Any, results: Any) -> None:
        """Learns from what was measured."""
        raise NotImplementedError

    def predict(self, task: Any, states: Any) -> Any:
        """The score of each state."""
        raise NotImplementedError
