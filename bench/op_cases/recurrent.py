"""Recurrent layers."""

from __future__ import annotations

import numpy as np

from .case import Case, model_of, node, random

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS = 64


def layer(kind: str, hidden: int, batch: int, both_ways: bool = False) -> Case:
    """As wide inside as its data."""
    gates, ways = GATES[kind] * hidden, 2 if both_ways else 1
    scale = np.float32(1 / np.sqrt(hidden))
    inputs = {"x": random(STEPS, batch, hidden)}
    shapes = {"w": (ways, gates, hidden), "r": (ways, gates, hidden), "b": (ways, 2 * gates)}
    weights = {name: random(*shape) * scale for name, shape in shapes.items()}
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    direction = "bidirectional" if both_ways else "forward"
    made = node(kind, ["x", "w", "r", "b"], "y", hidden_size=hidden, direction=direction, **more)
    name = f"{kind} {hidden}, {STEPS} steps, batch {batch}{', both ways' * both_ways}"
    operations = 4.0 * STEPS * batch * ways * gates * hidden
    return Case(name, model_of([made], inputs, weights), inputs, weights, operations=operations)


def cases(_nets: list[str]) -> list[Case]:
    return [
        layer("LSTM", 256, 1),
        layer("LSTM", 512, 1),
        layer("LSTM", 256, 16),
        layer("LSTM", 512, 16),
        layer("LSTM", 256, 1, both_ways=True),
        layer("LSTM", 512, 16, both_ways=True),
        layer("GRU", 256, 1),
        layer("GRU", 512, 16),
        layer("RNN", 256, 1),
    ]
