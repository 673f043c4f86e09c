"""Tasks, records and a runner for tests of AutoTVM that measure nothing."""

from __future__ import annotations

import random
import time
from typing import Any

from .. import autotvm, te
from ..autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from ..autotvm.measure.measure import Runner
from ..target import Target

__all__ = ["DummyRunner", "bad_matmul", "get_sample_records", "get_sample_task", "matmul"]


class DummyRunner(Runner):
    """Gives each candidate a random time."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def run(self, measure_inputs: Any, build_results: Any) -> list[MeasureResult]:
        """Times between 0 and 1 second."""
        del build_results
        return [
            MeasureResult((random.random(),), MeasureErrorNo.NO_ERROR, 0.2, time.time())
            for _ in range(len(measure_inputs))
        ]


def _matmul(N: int, L: int, M: int, dtype: str) -> tuple[Any, Any, list[Any]]:
    a, b = te.placeholder((N, L), name="A", dtype=dtype), te.placeholder((L, M), name="B", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    config = autotvm.get_config()
    config.define_split("tile_y", y, num_outputs=2)
    config.define_split("tile_x", x, num_outputs=2)
    yo, yi = config["tile_y"].apply(s, c, y)
    xo, xi = config["tile_x"].apply(s, c, x)
    s[c].reorder(yo, xo, k, yi, xi)
    return s, c, [a, b, c]


@autotvm.template("testing/matmul")
def matmul(N: int, L: int, M: int, dtype: str) -> tuple[Any, list[Any]]:
    """A matmul in tiles."""
    s, _, args = _matmul(N, L, M, dtype)
    return s, args


@autotvm.template("testing/bad_matmul")
def bad_matmul(N: int, L: int, M: int, dtype: str) -> tuple[Any, list[Any]]:
    """The same with a configuration that cannot be: two loops are bound to the same thread."""
    target = Target.current()
    if target is None or "bad_device" not in target.keys:
        return matmul(N, L, M, dtype)
    s, c, args = _matmul(N, L, M, dtype)
    s[c].bind(s[c].leaf_iter_vars[0], te.thread_axis("threadIdx.y"))
    s[c].bind(s[c].leaf_iter_vars[1], te.thread_axis("threadIdx.y"))
    return s, args


def get_sample_task(target: Any = "llvm", target_host: Any = None) -> tuple[Any, Any]:
    """A task of `testing/matmul`, and its target."""
    target, target_host = Target.canon_target_and_host(target, target_host)
    task = autotvm.task.create(
        "testing/matmul", args=(128, 128, 128, "float32"), target=target, target_host=target_host
    )
    return task, target


def get_sample_records(n: int) -> list[tuple[MeasureInput, MeasureResult]]:
    """Records of that task, with made-up times."""
    task, target = get_sample_task()
    return [
        (MeasureInput(target, task, task.config_space.get(i)), MeasureResult((i + 1,), 0, i, time.time()))
        for i in range(n)
    ]
