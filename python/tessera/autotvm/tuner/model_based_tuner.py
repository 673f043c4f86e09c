"""Points of a space as values of its knobs, and search by a model of their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["knob2point", "point2knob", "random_walk", "simulated_annealing"]


def point2knob(p: int, dims: Sequence[int]) -> list[int]:
    """The position of each knob at an index."""
    knobs = []
    for size in dims:
        knobs.append(p % size)
        p //= size
    return knobs


def knob2point(knob: Sequence[int], dims: Sequence[int]) -> int:
    """The index of positions of knobs."""
    point, scale = 0, 1
    for at, size in zip(knob, dims):
        point += at * scale
        scale *= size
    return point


def random_walk(point: int, dims: Sequence[int]) -> int:
    """A point that differs in one knob."""
    movable = [i for i, size in enumerate(dims) if size > 1]
    if not movable:
        return point
    knobs = point2knob(point, dims)
    which = movable[np.random.randint(len(movable))]
    knobs[which] = (knobs[which] + 1 + int(np.random.randint(dims[which] - 1))) % dims[which]
    return knob2point(knobs, dims)


def simulated_annealing(
    predict: Callable[[Sequence[int]], np.ndarray],
    dims: Sequence[int],
    count: int,
    exclude: Any,
    n_iter: int = 100,
    parallel_size: int = 128,
) -> list[int]:
    """The `count` points of the highest predicted score that walks of a falling temperature came across."""
    size = int(np.prod(dims, dtype=np.int64))
    points = [int(p) for p in np.random.randint(size, size=min(parallel_size, size))]
    scores = predict(points)
    seen = dict(zip(points, scores))
    for step in range(n_iter):
        temperature = 1 - step / n_iter
        moved = [random_walk(point, dims) for point in points]
        new_scores = predict(moved)
        seen.update(zip(moved, new_scores))
        chance = np.exp(np.minimum((new_scores - scores) / (temperature + 1e-5), 1))
        taken = np.random.random(len(points)) < chance
        points = [new if take else old for new, old, take in zip(moved, points, taken)]
        scores = np.where(taken, new_scores, scores)
    fresh: list[Any] = [(point, score) for point, score in seen.items() if point not in exclude]
    return [point for point, _ in sorted(fresh, key=lambda each: -each[1])[:count]]
