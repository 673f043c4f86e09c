"""A genetic algorithm on the positions of knobs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .model_based_tuner import knob2point, point2knob
from .tuner import Tuner

__all__ = ["GATuner"]


class GATuner(Tuner):
    """Populations of `pop_size`: the best `elite_num` live on, the others are crossed and mutated."""

    def __init__(self, task: Any, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1) -> None:
        super().__init__(task)
        self.dims = task.config_space.dims
        self.size = len(task.config_space)
        self.pop_size = min(pop_size, self.size)
        self.elite_num = min(elite_num, self.pop_size)
        self.mutation_prob = mutation_prob
        self.visited: set[int] = set()
        self.scores: dict[int, float] = {}
        self.genes = self._random(self.pop_size)
        self.trial = 0

    def _random(self, count: int) -> list[int]:
        out: list[int] = []
        while len(out) < count and len(self.visited) < self.size:
            point = int(np.random.randint(self.size))
            while point in self.visited:  # the next that is free
                point = (point + 1) % self.size
            self.visited.add(point)
            out.append(point)
        return out

    def has_next(self) -> bool:
        """True while there are configurations that were not asked for."""
        return self.trial < len(self.genes) or len(self.visited) < self.size

    def next_batch(self, batch_size: int) -> list[Any]:
        """The next of the population."""
        if self.trial >= len(self.genes):
            self._breed()
        batch = self.genes[self.trial : self.trial + batch_size]
        self.trial += len(batch)
        return [self.task.config_space.get(point) for point in batch]

    def update(self, inputs: Any, results: Any) -> None:
        """Scores are FLOPS."""
        for inp, result in zip(inputs, results):
            flops = inp.task.flop / np.mean(result.costs) if result.error_no == 0 else 0.0
            self.scores[inp.config.index] = float(flops)

    def _breed(self) -> None:
        best = sorted(self.scores, key=lambda point: -self.scores[point])
        parents = best[: max(self.elite_num, len(best) // 2, 1)]
        weights = np.array([self.scores[point] + 1e-8 for point in parents])
        weights /= weights.sum()
        children: list[int] = []
        for _ in range(self.pop_size):
            mother, father = (point2knob(parents[i], self.dims) for i in np.random.choice(len(parents), 2, p=weights))
            cut = np.random.randint(len(self.dims)) if self.dims else 0
            knobs = [
                int(np.random.randint(size)) if np.random.random() < self.mutation_prob else gene
                for gene, size in zip(mother[:cut] + father[cut:], self.dims)
            ]
            child = knob2point(knobs, self.dims)
            if child not in self.visited:
                self.visited.add(child)
                children.append(child)
        self.genes = children or self._random(self.pop_size)
        self.trial = 0
