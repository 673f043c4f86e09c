"""Features of scheduled programs for cost models: of each loop (itervar), and of how reuse grows over loops (curve).

A loop has its length, its depth, the products of lengths outside and inside of it, what is done with it (vectorised, unrolled, in
parallel, bound to a thread), arithmetic of the innermost body, and for each buffer the stride of its accesses along the loop, how many
elements are touched inside of it, and how often each is used again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import te, tir

__all__ = [
    "ana_lower",
    "get_buffer_curve_sample_flatten",
    "get_feature_len",
    "get_flatten_name",
    "get_itervar_feature",
    "get_itervar_feature_flatten",
]

#: What is done with a loop, one after the other of its one-hot vector.
_KINDS = [
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "unrolled", "vectorized", "parallel", "serial", "vthread",
]  # fmt: skip
_ATTRIBUTES = ["length", "nest_level", "topdown", "bottomup", *_KINDS]
_ARITHMETIC = ["add", "mul", "div"]
_TOUCHED = ["stride", "mod", "count", "reuse", "thread_count", "thread_reuse"]
_ADDS, _MULS, _DIVS = ("Add", "Sub"), ("Mul",), ("Div", "Mod", "FloorDiv", "FloorMod")
_LOOP_KINDS = {0: "serial", 1: "parallel", 2: "vectorized", 3: "unrolled"}


class _Loop:
    def __init__(self, var: Any, length: int, kind: str, depth: int, outer: float) -> None:
        self.var, self.length, self.kind, self.depth = var, length, kind, depth
        self.topdown, self.bottomup = outer * length, float(length)
        self.arithmetic = dict.fromkeys(_ARITHMETIC, 0.0)
        self.touched: dict[str, dict[str, float]] = {}


def ana_lower(sch: Any, args: Any, binds: Any = None, simple_mode: bool = True) -> Any:
    """The loops of a schedule, those of one iteration among them."""
    del args, binds, simple_mode
    sch = sch.normalize()
    return te.schedule.ScheduleOps(sch, te.schedule.InferBound(sch), True)


def _coefficient(index: Any, var: Any) -> float:
    """How far an index moves with a variable; 0 where it is not linear in it."""
    kind = type(index).__name__
    if kind == "Var":
        return float(index.same_as(var))
    if kind == "Add":
        return _coefficient(index.a, var) + _coefficient(index.b, var)
    if kind == "Sub":
        return _coefficient(index.a, var) - _coefficient(index.b, var)
    if kind == "Mul":
        for scaled, factor in ((index.a, index.b), (index.b, index.a)):
            if isinstance(factor, tir.IntImm):
                return _coefficient(scaled, var) * factor.value
    return 0.0


def _uses(index: Any, var: Any) -> bool:
    found = []
    tir.stmt_functor.post_order_visit(
        tir.Evaluate(index),
        lambda node: found.append(node) if isinstance(node, tir.Var) and node.same_as(var) else None,
    )
    return bool(found)


class _Walk:
    """Collects loops, in the order in which they are met, with what is touched inside of each."""

    def __init__(self) -> None:
        self.loops: list[_Loop] = []
        self._open: list[_Loop] = []
        self._names: dict[str, int] = {}

    def visit(self, stmt: Any) -> None:
        kind = type(stmt).__name__
        if kind == "For":
            self._loop(stmt.loop_var, int(stmt.extent), _LOOP_KINDS.get(int(stmt.kind), "serial"), stmt.body)
        elif kind == "AttrStmt" and stmt.attr_key in ("thread_extent", "virtual_thread"):
            tag = str(stmt.node.thread_tag)
            self._loop(stmt.node.var, int(stmt.value), "vthread" if tag.startswith("vthread") else tag, stmt.body)
        elif kind == "SeqStmt":
            for each in stmt.seq:
                self.visit(each)
        elif kind == "IfThenElse":
            self.visit(stmt.then_case)
            if stmt.else_case is not None:
                self.visit(stmt.else_case)
        elif kind == "ProducerStore":
            self._expression(stmt.value)
            self._touch(stmt.producer, stmt.indices)
        elif hasattr(stmt, "body"):
            self.visit(stmt.body)

    def _loop(self, var: Any, length: int, kind: str, body: Any) -> None:
        if str(var.name).endswith(".init"):
            return
        outer = self._open[-1].topdown if self._open else 1.0
        loop = _Loop(var, length, kind, len(self._open) + 1, outer)
        self.loops.append(loop)
        self._open.append(loop)
        self.visit(body)
        self._open.pop()
        if self._open:
            self._open[-1].bottomup = max(self._open[-1].bottomup, self._open[-1].length * loop.bottomup)

    def _expression(self, expr: Any) -> None:
        kind = type(expr).__name__
        if kind == "ProducerLoad":
            self._touch(expr.producer, expr.indices)
            return
        for name, kinds in zip(_ARITHMETIC, (_ADDS, _MULS, _DIVS)):
            if kind in kinds and self._open:
                self._open[-1].arithmetic[name] += 1
        for part in ("a", "b", "condition", "true_value", "false_value", "value"):
            child = getattr(expr, part, None)
            if isinstance(child, tir.PrimExpr):
                self._expression(child)
        for each in getattr(expr, "args", ()):
            if isinstance(each, tir.PrimExpr):
                self._expression(each)

    def _touch(self, tensor: Any, indices: Any) -> None:
        if not self._open:
            return
        base = str(tensor.op.name)
        name = f"{base}_{self._names.get(base, 0)}"
        self._names[base] = self._names.get(base, 0) + 1
        scale, strides = 1, []
        for extent in reversed(list(tensor.shape)):
            strides.append(scale)
            scale *= int(extent) if isinstance(extent, (int, tir.IntImm)) else 1
        strides.reverse()
        count = reuse = thread_count = thread_reuse = 1.0
        for loop in reversed(self._open):
            is_used = any(_uses(index, loop.var) for index in indices)
            stride = sum(step * _coefficient(index, loop.var) for step, index in zip(strides, indices))
            is_thread = loop.kind.startswith("threadIdx")
            count, reuse = (count * loop.length, reuse) if is_used else (count, reuse * loop.length)
            if is_thread:
                thread_count, thread_reuse = (
                    (thread_count * loop.length, thread_reuse)
                    if is_used
                    else (thread_count, thread_reuse * loop.length)
                )
            any_thread = any(each.kind.startswith("threadIdx") for each in self._open)
            loop.touched[name] = dict(
                zip(_TOUCHED, (stride if loop.length > 1 else 0.0, -1.0, count, reuse,
                               thread_count if any_thread else 0.0, thread_reuse if any_thread else 0.0))
            )  # fmt: skip


def _loops(sch: Any, args: Any) -> list[_Loop]:
    walk = _Walk()
    walk.visit(ana_lower(sch, args))
    return walk.loops


def _attributes(loop: _Loop) -> list[float]:
    one_hot = [int(kind == loop.kind) for kind in _KINDS]
    return [float(loop.length), loop.depth, loop.topdown, loop.bottomup, *one_hot]


def _log(value: float) -> float:
    return math.copysign(math.log2(abs(value) + 1), value)


def get_itervar_feature(sch: Any, args: Any, take_log: bool = False) -> list[Any]:
    """A list for each loop: its variable, its attributes, its arithmetic, and what it touches, each with a name in front."""
    change: Callable[[float], float] = _log if take_log else float
    out = []
    for loop in _loops(sch, args):
        numbers = _attributes(loop)
        row: list[Any] = [
            ["_itervar_", loop.var],
            ["_attr_", change(numbers[0]), loop.depth, change(numbers[2]), change(numbers[3]), *numbers[4:]],
            ["_arith_", *(change(value) for value in loop.arithmetic.values())],
        ]
        row += [
            [name, *(change(value) for value in touched.values())] for name, touched in sorted(loop.touched.items())
        ]
        out.append(row)
    return out


def flatten_itervar_feature(fea: list[Any]) -> np.ndarray:
    """The numbers of `get_itervar_feature`, without names."""
    return np.array([value for row in fea for group in row[1:] for value in group[1:]], dtype=np.float32)


def get_itervar_feature_flatten(sch: Any, args: Any, take_log: bool = True) -> np.ndarray:
    """The features of all loops, one after the other."""
    return flatten_itervar_feature(get_itervar_feature(sch, args, take_log))


def get_flatten_name(fea: list[Any]) -> list[str]:
    """The name of each number of `get_itervar_feature_flatten`."""
    names = {"_attr_": _ATTRIBUTES, "_arith_": _ARITHMETIC}
    return [
        f"{row[0][1].name}.{group[0]}.{name}"
        for row in fea
        for group in row[1:]
        for name in names.get(group[0], _TOUCHED)
    ]


def get_buffer_curve_sample_flatten(sch: Any, args: Any, sample_n: int = 30) -> np.ndarray:
    """For each buffer, how much is touched and used again as loops are taken in, sampled on a logarithmic scale: two curves of
    `sample_n` points."""
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for loop in reversed(_loops(sch, args)):
        for name, touched in loop.touched.items():
            curves.setdefault(name, []).append((touched["count"], touched["reuse"], loop.topdown))
    out: list[float] = []
    for name in sorted(curves):
        points = curves[name]
        for x, y in ((1, 0), (0, 1), (2, 0)):
            line = sorted({(_log(point[x]), _log(point[y])) for point in points})
            for i in range(sample_n):
                at = i * 1.0
                known = [each for each in line if each[0] <= at] or [line[0]]
                out += [known[-1][1], at]
    return np.array(out, dtype=np.float32)


def get_feature_len(sch: Any, args: Any) -> int:
    """How many numbers `get_itervar_feature_flatten` has."""
    return len(get_itervar_feature_flatten(sch, args))
