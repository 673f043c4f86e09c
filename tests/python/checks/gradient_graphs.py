"""Gradients of random graphs: however they are compiled they agree, and with the slope along a random direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import tessera
from random_graphs import Graph, Wrong, run
from tessera import relay


def value_at(graph: Graph, moved: dict[int, np.ndarray], needed: list[int]) -> dict[int, Any]:
    """The values of nodes where some inputs have others."""
    values: dict[int, Any] = {}
    for i in needed:
        node = graph.nodes[i]
        values[i] = moved.get(i, node.value) if node.compute is None else node.compute(*[values[a] for a in node.args])
    return values


def differentiable(graph: Graph) -> list[int]:
    """Results of floats that need no control flow and no values of other types on the way."""
    is_plain = lambda node: node.make is None or node.compute is not None
    smooth: list[bool] = []
    for node in graph.nodes:
        parts = node.value if isinstance(node.value, list) else [node.value]
        is_float = all(part.dtype.kind == "f" and part.dtype != "float16" for part in parts)
        smooth.append(is_plain(node) and not node.needs_vm and is_float)
    return [i for i in graph.results() if smooth[i]][:3]


def ancestors(graph: Graph, results: list[int]) -> list[int]:
    needed: set[int] = set()
    todo = list(results)
    while todo:
        at = todo.pop()
        if at not in needed:
            needed.add(at)
            todo += graph.nodes[at].args
    return sorted(needed)


def check_gradient(graph: Graph) -> bool:
    """Compares; False where the graph has nothing to differentiate, or an operator in it no gradient."""
    results = differentiable(graph)
    if not results:
        return False
    numbers = np.random.default_rng(graph.seed)
    function, inputs = graph.function(results)
    weights = [numbers.uniform(0.5, 1.5, graph.nodes[i].value.shape) for i in results]
    parts = [function.body] if len(results) == 1 else list(function.body.fields)
    total = relay.const(0.0, "float64")
    for part, weight in zip(parts, weights):
        total = total + relay.sum(relay.cast(part, "float64") * relay.const(weight, "float64"))
    floats = [p for p in function.params if inputs[p.name_hint].dtype.kind == "f" and inputs[p.name_hint].size]
    if not floats:
        return False
    forward = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(function.params, total)))["main"]
    try:
        backward = relay.transform.gradient(forward, mode="first_order")
    except Exception as error:
        if "gradient" in str(error):
            return False
        raise
    plain = run(backward, inputs, executor="debug", opt_level=0, threads=1)
    quick = run(backward, inputs, executor="graph", opt_level=3, threads=2)
    for a, b in zip(plain, quick):
        scale = max(1.0, float(np.abs(a).max(initial=0.0)))
        if not np.allclose(a, b, rtol=2e-3, atol=2e-3 * scale, equal_nan=True):
            raise Wrong(f"gradients of levels 0 and 3 differ by {np.abs(a - b).max():.2g}")
    compare_slope(graph, results, weights, dict(zip([p.name_hint for p in function.params], plain[1:])))
    return True


def compare_slope(
    graph: Graph, results: list[int], weights: list[np.ndarray], gradients: dict[str, np.ndarray]
) -> None:
    """The gradient along a direction against the slope there, unless the graph has a kink nearby."""
    numbers = np.random.default_rng(graph.seed + 1)
    needed = ancestors(graph, results)
    at = {i: graph.nodes[i].value for i in needed if f"x{i}" in gradients and graph.nodes[i].value.dtype.kind == "f"}
    direction = {i: numbers.uniform(-1, 1, value.shape) for i, value in at.items()}

    def along(step: float) -> float:
        values = value_at(graph, {i: value.astype("float64") + step * direction[i] for i, value in at.items()}, needed)
        return float(sum((w * np.asarray(values[i], "float64")).sum() for w, i in zip(weights, results)))

    slopes = [(along(step) - along(-step)) / (2 * step) for step in (1e-3, 5e-4)]
    analytic = float(sum((gradients[f"x{i}"].astype("float64") * d).sum() for i, d in direction.items()))
    size = float(sum(np.abs(gradients[f"x{i}"].astype("float64") * d).sum() for i, d in direction.items()))
    noise = abs(slopes[0] - slopes[1]) * 10 + 0.02 * max(1.0, size, abs(slopes[0]))
    if not np.isfinite(slopes).all() or abs(slopes[0] - slopes[1]) > 0.01 * max(1.0, abs(slopes[0])):
        return
    if abs(analytic - slopes[1]) > noise:
        raise Wrong(f"the gradient along a direction is {analytic:.5g}, the slope {slopes[1]:.5g}")
