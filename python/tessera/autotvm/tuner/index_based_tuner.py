"""Tuners that go through indices: in order, or in a random one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tuner import Tuner

__all__ = ["GridSearchTuner", "IndexBaseTuner", "RandomTuner"]


class IndexBaseTuner(Tuner):
    """Goes through a range of indices."""

    def __init__(self, task: Any, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task)
        size = len(task.config_space)
        begin, last = range_idx or (0, size - 1)
        if not 0 <= begin <= last < size:
            raise ValueError(f"the indices {begin} to {last} are not inside a space of {size}")
        self.begin_idx, self.end_idx = begin, last + 1
        self.range_length = self.end_idx - self.begin_idx
        self.counter = 0

    def has_next(self) -> bool:
        """True while there are indices left."""
        return self.counter < self.range_length

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Nothing is learned."""


class GridSearchTuner(IndexBaseTuner):
    """In order."""

    def next_batch(self, batch_size: int) -> list[Any]:
        """The next ones."""
        first = self.begin_idx + self.counter
        count = min(batch_size, self.range_length - self.counter)
        self.counter += count
        return [self.task.config_space.get(index) for index in range(first, first + count)]


class RandomTuner(IndexBaseTuner):
    """In a random order, each once."""

    def __init__(self, task: Any, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task, range_idx)
        self._swapped: dict[int, int] = {}  # Fisher and Yates's shuffle, of what was asked for only

    def next_batch(self, batch_size: int) -> list[Any]:
        """Some that were not asked for."""
        out: list[Any] = []
        while len(out) < batch_size and self.has_next():
            at = int(np.random.randint(self.counter, self.range_length))
            chosen = self._swapped.get(at, at)
            self._swapped[at] = self._swapped.get(self.counter, self.counter)
            self.counter += 1
            out.append(self.task.config_space.get(self.begin_idx + chosen))
        return out
