"""Random typed graphs of operators, their values by NumPy, and the smallest part of one that still goes wrong.

A graph is a list of nodes, each knowing its value from the start: what may follow is chosen by it (no logarithm of a
negative number, no comparison of values that differ by a rounding), and any part can be cut out and given as input.

    graph = generate(seed)
    graph.check(executor="vm", opt_level=3)          # raises Wrong
    print(shrink(graph, executor="vm", opt_level=3)) # the Relay text of a small failing part
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tessera
from references import REFERENCES, evaluate
from references_nn import REFERENCES as NN_REFERENCES
from tessera import relay

FLOATS, INTS = ("float32", "float64"), ("int32", "int64", "int8", "uint8")
LARGEST = 4096  # elements of a tensor
ALL_REFERENCES = {**REFERENCES, **NN_REFERENCES}
TEMPLATES: list[tuple[float, Callable[[Graph], Any]]] = []


class Wrong(AssertionError):
    """A graph whose compiled form gives other values than NumPy."""


@dataclass
class Node:
    """A value: an input, a constant, or what `make` builds from the nodes `args`."""

    value: Any  # an array, or a list of them
    args: list[int] = field(default_factory=list)
    make: Callable[..., Any] | None = None
    is_constant: bool = False


def template(weight: float = 1.0) -> Callable[[Any], Any]:
    """Marks a function that adds nodes to a graph, or does nothing when it finds nothing that fits."""

    def mark(function: Any) -> Any:
        TEMPLATES.append((weight, function))
        return function

    return mark


class Graph:
    """Nodes in order; those that nothing uses are its results."""

    def __init__(self, seed: int):
        self.seed = seed
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes: list[Node] = []

    # ---- growing ----------------------------------------------------------------------------------------------------

    def array(self, shape: Any, dtype: str, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        if dtype == "bool":
            return self.numbers.random(shape) > 0.5
        if dtype in INTS:
            low = max(low, 0) if dtype == "uint8" else low
            return self.numbers.integers(math.floor(low * 4), math.ceil(high * 4) + 1, shape).astype(dtype)
        return np.asarray(self.numbers.uniform(low, high, shape)).astype(dtype)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        return tuple(
            self.rng.choice((1, 1, 2, 2, 3, 4, 5, 8, 0 if self.rng.random() < 0.1 else 7)) for _ in range(rank)
        )

    def fresh(self, shape: Any = None, dtype: str | None = None, **bounds: float) -> int:
        """A new input or constant."""
        dtype = dtype or self.rng.choice(FLOATS[:1] * 5 + FLOATS + INTS + ("bool",))
        value = self.array(self.shape() if shape is None else tuple(shape), dtype, **bounds)
        self.nodes.append(Node(value, is_constant=self.rng.random() < 0.35))
        return len(self.nodes) - 1

    def pick(self, fits: Callable[[np.ndarray], bool]) -> int | None:
        """A tensor that fits, rather a late one."""
        fitting = [i for i, n in enumerate(self.nodes) if isinstance(n.value, np.ndarray) and fits(n.value)]
        if not fitting:
            return None
        return fitting[max(self.rng.randrange(len(fitting)), self.rng.randrange(len(fitting)))]

    def find(self, fits: Callable[[np.ndarray], bool], shape: Any, dtype: str, **bounds: float) -> int:
        """A tensor that fits, or a new one of that shape and type."""
        found = self.pick(fits) if self.rng.random() < 0.8 else None
        return self.fresh(shape, dtype, **bounds) if found is None else found

    def add(self, make: Callable[..., Any], *args: int) -> int | None:
        """The node that `make` builds from others, unless its values are of no use for comparing."""
        variables = [self._variable(f"a{i}", self.nodes[arg].value) for i, arg in enumerate(args)]
        expr = make(*variables)
        expr = expr.astuple() if isinstance(expr, relay.TupleWrapper) else expr
        value = evaluate(expr, {f"a{i}": self.nodes[arg].value for i, arg in enumerate(args)}, ALL_REFERENCES)
        parts = value if isinstance(value, (list, tuple)) else [value]
        parts = [np.asarray(part) for part in parts]
        if any(part.size > LARGEST for part in parts) or not all(is_calm(part) for part in parts):
            return None
        value = parts if isinstance(value, (list, tuple)) else parts[0]
        self.nodes.append(Node(value, list(args), make))
        last = len(self.nodes) - 1
        if isinstance(value, list):
            for i in range(len(value)):
                self.nodes.append(Node(value[i], [last], lambda t, i=i: relay.TupleGetItem(t, i)))
        return last

    @staticmethod
    def _variable(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return relay.var(name, relay.TupleType([relay.TensorType(v.shape, str(v.dtype)) for v in value]))
        return relay.var(name, shape=value.shape, dtype=str(value.dtype))

    # ---- running ----------------------------------------------------------------------------------------------------

    def results(self) -> list[int]:
        used = {arg for node in self.nodes for arg in node.args}
        return [i for i, n in enumerate(self.nodes) if i not in used and n.make and isinstance(n.value, np.ndarray)]

    def function(self, results: list[int], cut: frozenset[int] = frozenset()) -> tuple[Any, dict[str, np.ndarray]]:
        """A Relay function of the results, and its inputs; nodes in `cut` are inputs."""
        needed: set[int] = set()
        todo = list(results)
        while todo:
            at = todo.pop()
            if at in needed:
                continue
            needed.add(at)
            if at not in cut:
                todo += self.nodes[at].args
        exprs: dict[int, Any] = {}
        params, inputs = [], {}
        for i in sorted(needed):
            node = self.nodes[i]
            if node.make is not None and i not in cut:
                expr = node.make(*[exprs[arg] for arg in node.args])
                exprs[i] = expr.astuple() if isinstance(expr, relay.TupleWrapper) else expr
            elif node.is_constant:
                exprs[i] = relay.const(node.value, str(node.value.dtype))
            else:
                exprs[i] = self._variable(f"x{i}", node.value)
                params.append(exprs[i])
                inputs[f"x{i}"] = node.value
        body = exprs[results[0]] if len(results) == 1 else relay.Tuple([exprs[i] for i in results])
        return relay.Function(params, body), inputs

    def check(self, results: list[int] | None = None, cut: frozenset[int] = frozenset(), **how: Any) -> None:
        """Compiles and runs the part of the graph that the results need, and compares."""
        results = self.results() if results is None else results
        if not results:
            return
        function, inputs = self.function(results, cut)
        for i, got in zip(results, run(function, inputs, **how)):
            compare(got, self.nodes[i].value)


def is_calm(value: np.ndarray) -> bool:
    """Finite and not so large or so small that float32 has nothing to compare."""
    if value.dtype.kind != "f":
        return True
    return bool(np.all(np.isfinite(value)) and (value.size == 0 or np.abs(value).max() < 1e4))


def compare(got: np.ndarray, want: np.ndarray) -> None:
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Wrong(f"a result is {got.dtype}{got.shape}, NumPy's is {want.dtype}{want.shape}")
    if want.size == 0:
        return
    if want.dtype.kind == "f":
        scale = max(1.0, float(np.abs(want).max()))
        error = float(np.nanmax(np.abs(got.astype("float64") - want) / scale))
        if not error < 2e-3 or np.isnan(got).any():
            raise Wrong(f"a result is off by {error:.2g} of its largest value {scale:.3g}")
    elif not np.array_equal(got, want):
        raise Wrong(f"{int((got != want).sum())} of {want.size} elements of a result are other numbers")


def run(
    function: Any,
    inputs: dict[str, np.ndarray],
    executor: str = "graph",
    opt_level: int = 3,
    passes: tuple[str, ...] = (),
) -> list[np.ndarray]:
    """The results of a function, after extra passes by name."""
    mod = tessera.IRModule.from_expr(function)
    with tessera.transform.PassContext(opt_level=opt_level):
        for name in passes:
            mod = PASSES[name]()(relay.transform.InferType()(mod))
        evaluate_main = relay.create_executor(executor, mod, tessera.cpu(), "llvm").evaluate()
        out = evaluate_main(*[inputs[p.name_hint] for p in function.params])
    return [tensor.numpy() for tensor in flat(out)]


def flat(value: Any) -> list[Any]:
    if hasattr(value, "numpy"):
        return [value]
    return [item for part in value for item in flat(part)]


PASSES: dict[str, Callable[[], Any]] = {
    name: getattr(relay.transform, name)
    for name in (
        "CanonicalizeCast",
        "CanonicalizeOps",
        "CombineParallelBatchMatmul",
        "CombineParallelConv2D",
        "CombineParallelDense",
        "CombineProducts",
        "DeadCodeElimination",
        "EliminateCommonSubexpr",
        "FoldConstant",
        "FoldExplicitPadding",
        "FoldScaleAxis",
        "LambdaLift",
        "SimplifyExpr",
        "SimplifyInference",
        "ToANormalForm",
        "ToBasicBlockNormalForm",
        "ToGraphNormalForm",
    )
    if hasattr(relay.transform, name)
}


def generate(seed: int, size: int | None = None) -> Graph:
    """The graph of that seed."""
    graph = Graph(seed)
    size = graph.rng.choice((2, 4, 6, 8, 12, 20, 30)) if size is None else size
    for _ in range(graph.rng.randrange(1, 4)):
        graph.fresh()
    weights = [weight for weight, _ in TEMPLATES]
    for _ in range(10 * size):
        if sum(1 for node in graph.nodes if node.make) >= size:
            break
        graph.rng.choices(TEMPLATES, weights)[0][1](graph)
    return graph


def variants(graph: Graph) -> list[dict[str, Any]]:
    """How a graph is run: not optimised, optimised, and after a random choice of passes; each on a random executor."""
    rng = random.Random(graph.seed + 1)
    chosen = tuple(rng.sample(sorted(PASSES), rng.randrange(1, 5)))
    executors = ("graph", "graph", "vm", "debug")
    return [
        {"executor": rng.choice(executors), "opt_level": 0},
        {"executor": rng.choice(executors), "opt_level": 3},
        {"executor": rng.choice(executors), "opt_level": rng.choice((0, 1, 2, 3, 4)), "passes": chosen},
    ]


def shrink(graph: Graph, **how: Any) -> str:
    """A small part of the graph that fails too, as Relay text, with how to run it and what goes wrong."""

    def fails(results: list[int], cut: frozenset[int]) -> str | None:
        try:
            graph.check(results, cut, **how)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    results, cut, problem = graph.results(), frozenset(), ""
    for i, node in enumerate(graph.nodes):  # the first node that is wrong by itself
        if node.make and isinstance(node.value, np.ndarray) and fails([i], frozenset()):
            results = [i]
            break
    for at in reversed(range(len(graph.nodes))):
        if graph.nodes[at].make and at not in results and isinstance(graph.nodes[at].value, np.ndarray):
            cut = cut | {at} if fails(results, cut | {at}) else cut
    problem = fails(results, cut) or "it does not fail twice"
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(graph.function(results, cut)[0]))
    return f"seed {graph.seed}, {how}:\n{problem}\n{mod.astext(show_meta_data=False)}"


import graph_templates  # noqa: E402, F401  (they register themselves)
import graph_templates_nn  # noqa: E402, F401
