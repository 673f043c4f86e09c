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
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tessera
from references import REFERENCES, evaluate
from references_nn import REFERENCES as NN_REFERENCES
from tessera import relay

FLOATS, INTS = ("float32", "float64"), ("int32", "int64", "int8", "uint8")
LARGEST, LARGEST_WIDE = 4096, 1 << 16  # elements of a tensor; those of wide graphs are worth a second thread
ALL_REFERENCES = {**REFERENCES, **NN_REFERENCES}
TEMPLATES: list[tuple[float, Callable[[Graph], Any]]] = []
CASES: dict[str, list[Callable[[Graph], Any]]] = {}  # operator -> what adds a call of it to any graph

# What these operators say where the extents of their inputs are not known.
NEEDS_EXTENTS = {
    "auto_scheduler_layout_transform": "but src_layout is",
    "meta_schedule_layout_transform": "no inverse",
    "nn.contrib_conv3d_winograd_weight_transform": "must be a constant integer",
    "nn.contrib_conv3d_winograd_without_weight_transform": "must be a constant integer",
    "nn.matmul_nbits": "k a multiple of the block size",
    "nn.recurrent": "weight must have fixed extents",
    "qnn.batch_matmul": "whose depth is not a number",
    "qnn.conv2d": "no operator in it has a shape function",
    "qnn.dense": "whose depth is not a number",
    "stft": "the length of the window must be a constant integer",
}


class Wrong(AssertionError):
    """A graph whose compiled form gives other values than NumPy."""


@dataclass
class Node:
    """A value: an input, a constant, or what `make` builds from the nodes `args`."""

    value: Any  # an array, or a list of them
    args: list[int] = field(default_factory=list)
    make: Callable[..., Any] | None = None
    is_constant: bool = False
    is_index: bool = False  # an input whose values say which elements, or how many
    needs_vm: bool = False  # control flow, or a shape that values decide
    slack: int = 0  # how far integers may be off; such a value is no argument of others
    compute: Callable[..., Any] | None = None  # the value, of those of args


def template(weight: float = 1.0) -> Callable[[Any], Any]:
    """Marks a function that adds nodes to a graph, or does nothing when it finds nothing that fits."""

    def mark(function: Any) -> Any:
        TEMPLATES.append((weight, function))
        return function

    return mark


def case(*names: str) -> Callable[[Any], Any]:
    """Marks a function of (graph, operator) that adds a call of the operator; it finds or makes all arguments."""

    def mark(function: Any) -> Any:
        for name in names:
            CASES.setdefault(name, []).append(lambda graph, name=name: function(graph, name))
        return function

    return mark


class Graph:
    """Nodes in order; those that nothing uses are its results."""

    def __init__(self, seed: int):
        self.seed = seed
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes: list[Node] = []
        self.is_wide = seed % 10 == 7

    # ---- growing ----------------------------------------------------------------------------------------------------

    def array(self, shape: Any, dtype: str, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        if dtype == "bool":
            return self.numbers.random(shape) > 0.5
        if np.dtype(dtype).kind in "iu":
            low = max(low, 0) if np.dtype(dtype).kind == "u" else low
            return self.numbers.integers(math.floor(low * 4), math.ceil(high * 4) + 1, shape).astype(dtype)
        return np.asarray(self.numbers.uniform(low, high, shape)).astype(dtype)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        extents = [self.rng.choice((1, 1, 2, 2, 3, 4, 5, 8, 0 if self.rng.random() < 0.1 else 7)) for _ in range(rank)]
        if self.is_wide and 0 < rank < 4:
            extents[self.rng.randrange(rank)] = self.rng.choice((33, 64, 100, 500))
        return tuple(extents)

    def fresh(self, shape: Any = None, dtype: str | None = None, **bounds: float) -> int:
        """A new input or constant."""
        dtype = dtype or self.rng.choice(FLOATS[:1] * 5 + FLOATS + INTS + ("bool",))
        value = self.array(self.shape() if shape is None else tuple(shape), dtype, **bounds)
        self.nodes.append(Node(value, is_constant=self.rng.random() < 0.35))
        return len(self.nodes) - 1

    def pick(self, fits: Callable[[np.ndarray], bool]) -> int | None:
        """A tensor that fits, rather a late one."""
        fitting = [
            i for i, n in enumerate(self.nodes) if isinstance(n.value, np.ndarray) and not n.slack and fits(n.value)
        ]
        if not fitting:
            return None
        return fitting[max(self.rng.randrange(len(fitting)), self.rng.randrange(len(fitting)))]

    def find(self, fits: Callable[[np.ndarray], bool], shape: Any, dtype: str, **bounds: float) -> int:
        """A tensor that fits, or a new one of that shape and type."""
        found = self.pick(fits) if self.rng.random() < 0.8 else None
        return self.fresh(shape, dtype, **bounds) if found is None else found

    def given(self, value: Any, dtype: str | None = None, is_index: bool = False) -> int:
        """A new input or constant of that value."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
        self.nodes.append(Node(array, is_constant=self.rng.random() < 0.35, is_index=is_index))
        return len(self.nodes) - 1

    def indices(self, high: int, shape: Any, dtype: str | None = None, low: int = 0) -> int:
        """New integers in [low, high) that choose elements."""
        dtype = dtype or self.rng.choice(("int32", "int64"))
        return self.given(self.numbers.integers(low, max(high, low + 1), shape), dtype, is_index=True)

    def tensor(
        self,
        shape: Any = None,
        rank: int | None = None,
        dtype: Any = "float32",
        low: float = -2.0,
        high: float = 2.0,
        fits: Callable[[np.ndarray], bool] = lambda v: True,
    ) -> int:
        """A tensor with elements, of that shape (or rank), in [low, high]: one of the graph's, or a new one."""
        dtypes = (dtype,) if isinstance(dtype, str) else tuple(dtype)

        def serves(v: np.ndarray) -> bool:
            if str(v.dtype) not in dtypes or not v.size or (rank is not None and v.ndim != rank):
                return False
            if shape is not None and v.shape != tuple(shape):
                return False
            return bool(v.dtype == bool or (v.min() >= low and v.max() <= high)) and fits(v)

        found = self.pick(serves) if self.rng.random() < 0.7 else None
        if found is not None:
            return found
        chosen = self.rng.choice(dtypes)
        for _ in range(20):
            extents = self.shape(rank) if shape is None else tuple(shape)
            value = self.array(extents, chosen, low, high)
            if value.dtype.kind in "iu":
                value = np.clip(value, math.ceil(max(low, np.iinfo(chosen).min)), math.floor(high)).astype(chosen)
            if value.size and fits(value):
                break
        else:
            raise LookupError(f"no {chosen}{extents} in [{low}, {high}] fits")
        return self.given(value)

    def add(
        self,
        make: Callable[..., Any],
        *args: int,
        want: Callable[..., Any] | None = None,
        slack: int = 0,
        needs_vm: bool = False,
    ) -> int | None:
        """The node that `make` builds from others, unless its values are of no use for comparing.

        Its value is what `want` says of the arguments', or else what the references say of the calls in it.
        """
        variables = [self._variable(f"a{i}", self.nodes[arg].value) for i, arg in enumerate(args)]
        expr = make(*variables)
        expr = expr.astuple() if isinstance(expr, relay.TupleWrapper) else expr

        def compute(*values: Any) -> Any:
            if want is None:
                return evaluate(expr, {f"a{i}": value for i, value in enumerate(values)}, ALL_REFERENCES)
            with np.errstate(all="ignore"):
                return want(*values)

        value = compute(*[self.nodes[arg].value for arg in args])
        parts = value if isinstance(value, (list, tuple)) else [value]
        parts = [np.asarray(part) for part in parts]
        if any(part.size > (LARGEST_WIDE if self.is_wide else LARGEST) for part in parts) or not all(
            is_calm(part) for part in parts
        ):
            return None
        value = parts if isinstance(value, (list, tuple)) else parts[0]
        slack = max([slack, *[self.nodes[arg].slack for arg in args]])
        needs_vm = needs_vm or any(self.nodes[arg].needs_vm for arg in args)
        self.nodes.append(Node(value, list(args), make, slack=slack, needs_vm=needs_vm, compute=compute))
        last = len(self.nodes) - 1
        if isinstance(value, list):
            for i in range(len(value)):
                pick = lambda t, i=i: relay.TupleGetItem(t, i)
                part = lambda values, i=i: values[i]
                self.nodes.append(Node(value[i], [last], pick, slack=slack, needs_vm=needs_vm, compute=part))
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

    def function(
        self, results: list[int], cut: frozenset[int] = frozenset(), variable: Any = None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """A Relay function of the results, and its inputs; nodes in `cut` are inputs."""
        variable = variable or self._variable
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
                exprs[i] = variable(f"x{i}", node.value)
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
        if how.get("executor", "graph") == "graph" and any(self.nodes[i].needs_vm for i in results):
            how["executor"] = "vm"
        for i, got in zip(results, run(function, inputs, **how)):
            compare(got, self.nodes[i].value, self.nodes[i].slack)


def function_with_dynamic_extents(graph: Graph, results: list[int], share: float) -> tuple[Any, dict[str, np.ndarray]]:
    """The function of a graph with Any for a share of its inputs' extents; how long a shape is stays known."""
    rng = random.Random(graph.seed)
    of_indices = {f"x{i}" for i, node in enumerate(graph.nodes) if node.is_index}

    def variable(name: str, value: Any) -> Any:
        def type_of(part: np.ndarray) -> Any:
            fixed = name in of_indices
            extents = [extent if fixed or rng.random() >= share else relay.Any() for extent in part.shape]
            return relay.TensorType(extents, str(part.dtype))

        if isinstance(value, list):
            return relay.var(name, relay.TupleType([type_of(part) for part in value]))
        return relay.var(name, type_of(value))

    return graph.function(results, variable=variable)


def is_calm(value: np.ndarray) -> bool:
    """Finite and not so large or so small that float32 has nothing to compare."""
    if value.dtype.kind != "f":
        return True
    return bool(np.all(np.isfinite(value)) and (value.size == 0 or np.abs(value).max() < 1e4))


def compare(got: np.ndarray, want: np.ndarray, slack: int = 0) -> None:
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Wrong(f"a result is {got.dtype}{got.shape}, NumPy's is {want.dtype}{want.shape}")
    if want.size == 0:
        return
    if want.dtype.kind == "f":
        scale = max(1.0, float(np.abs(want).max()))
        error = float(np.nanmax(np.abs(got.astype("float64") - want) / scale))
        if not error < (2e-2 if want.dtype == "float16" else 2e-3) or np.isnan(got).any():
            raise Wrong(f"a result is off by {error:.2g} of its largest value {scale:.3g}")
    elif slack:
        if np.abs(got.astype("int64") - want.astype("int64")).max() > slack:
            raise Wrong(f"integers of a result are off by more than {slack}")
    elif not np.array_equal(got, want):
        raise Wrong(f"{int((got != want).sum())} of {want.size} elements of a result are other numbers")


def run(
    function: Any,
    inputs: dict[str, np.ndarray],
    executor: str = "graph",
    opt_level: int = 3,
    passes: tuple[str, ...] = (),
    threads: int = 0,
) -> list[np.ndarray]:
    """The results of a function, after extra passes by name; 0 threads are as many as there are."""
    tessera.get_global_func("runtime.config_threadpool")(0, threads)
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


def generate(seed: int, size: int | None = None, without: Collection[str] = ()) -> Graph:
    """The graph of that seed, without some operators."""
    graph = Graph(seed)
    size = graph.rng.choice((1, 2, 2, 4, 4, 6, 8, 12, 24)) if size is None else size
    for _ in range(graph.rng.randrange(1, 4)):
        graph.fresh()
    weights = [weight for weight, _ in TEMPLATES]
    operators = sorted(set(CASES) - set(without))
    for _ in range(10 * size):
        if sum(1 for node in graph.nodes if node.make) >= size:
            break
        if graph.rng.random() < 0.4:
            grow(graph, graph.rng.choice(operators))
        else:
            graph.rng.choices(TEMPLATES, weights)[0][1](graph)
    return graph


def grow(graph: Graph, name: str) -> int | None:
    """Adds a random call of the operator; what was found for one that came to nothing stays unused."""
    try:
        return graph.rng.choice(CASES[name])(graph)
    except LookupError:  # no tensor of the graph's extents fits
        return None


def single(name: str, seed: int) -> Graph:
    """A graph of one random call of the operator."""
    for attempt in range(50):
        graph = Graph(1000 * seed + attempt)
        if grow(graph, name) is not None:
            return graph
    raise LookupError(f"no case of {name} gives values that can be compared")


def variants(graph: Graph) -> list[dict[str, Any]]:
    """How a graph is run: plain on one thread, optimised on one or two, after some passes; each on a random executor."""
    rng = random.Random(graph.seed + 1)
    chosen = tuple(rng.sample(sorted(PASSES), rng.randrange(1, 5)))
    executors = ("graph", "graph", "vm", "debug")
    return [
        {"executor": rng.choice(executors), "opt_level": 0, "threads": 1},
        {"executor": rng.choice(executors), "opt_level": 3, "threads": rng.choice((1, 2))},
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
import operator_cases  # noqa: E402, F401
import operator_cases_dyn  # noqa: E402, F401
import operator_cases_moves  # noqa: E402, F401
import operator_cases_nn  # noqa: E402, F401
import operator_cases_qnn  # noqa: E402, F401
import operator_cases_vision  # noqa: E402, F401
