"""A model that knows nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import derived_object
from .cost_model import PyCostModel

__all__ = ["RandomModel"]


@derived_object
class RandomModel(PyCostModel):
    """Random scores. `save` and `load` keep the state of its generator, as numbers."""

    def __init__(self, *, seed: int | None = None, path: str | None = None, max_range: int = 100) -> None:
        super().__init__()
        self.max_range = max_range
        self.random = np.random.RandomState(seed)
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        """Reads the state of the generator."""
        state = np.load(path, allow_pickle=False)
        self.random.set_state(("MT19937", state[:624].astype("uint32"), int(state[624]), 0, 0.0))

    def save(self, path: str) -> None:
        """Writes the state of the generator."""
        _, keys, position, *_ = self.random.get_state(legacy=True)
        with open(path, "wb") as out:
            np.save(out, np.append(np.asarray(keys, dtype="int64"), int(position)), allow_pickle=False)

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        """Nothing is learned."""

    def predict(self, context: Any, candidates: Any) -> np.ndarray:
        """Random scores."""
        return self.random.rand(len(candidates)) * self.max_range

    def is_blind(self) -> bool:
        """Always."""
        return True
