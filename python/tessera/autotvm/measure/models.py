"""Whole models before and after a search, in turns: kernels that win alone may lose where their weights come from memory and their
neighbours want another layout."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime import cpu
from ...runtime.ndarray import array
from .confirm import Outcome

__all__ = ["LOST_IN_MODEL", "Model", "by_model", "confirm_model", "is_model_faster", "seconds_in_turns"]

logger = logging.getLogger("autotvm")

ROUND_SECONDS = 0.03  # each side of a round runs about this long
ROUNDS = 15
FASTER = 0.99  # in a first comparison; who wins by chance does not win a second


class Model(NamedTuple):
    """What tasks were extracted from."""

    mod: Any
    params: Any
    target: Any

    def runs_here(self) -> bool:
        """True where this process can run it."""
        return str(self.target.kind.name) == "llvm" and "mtriple" not in self.target.attrs


#: A kernel that is faster alone, and does not make its model faster.
LOST_IN_MODEL = Outcome(False, math.inf, math.inf)


def by_model(tasks: Any, gains: dict[int, float]) -> list[tuple[Model, dict[int, float]]]:
    """The models of this machine that tasks were extracted from, with the gains of their tasks by position."""
    out: dict[int, tuple[Model, dict[int, float]]] = {}
    for i, gain in gains.items():
        model = getattr(tasks[i], "_model", None)
        if model is not None and model.runs_here():
            out.setdefault(id(model), (model, {}))[1][i] = gain
    return list(out.values())


def _random(shape: Any, dtype: str) -> Any:
    rng = np.random.default_rng(0)
    extents = [int(extent) for extent in shape]
    if dtype.startswith("float"):
        return rng.standard_normal(extents).astype(dtype)
    if dtype == "bfloat16":
        return array(np.zeros(extents, "float32")).astype("bfloat16")
    return rng.integers(0, 2, extents).astype(dtype)  # positions in some other tensor, perhaps: small ones


def _runner(library: Any) -> Callable[[], Any]:
    """Runs a library of relay.build on random inputs."""
    from ...contrib.graph_executor import GraphModule

    module = GraphModule(library["default"](cpu()))
    shapes, dtypes = module.get_input_info()
    for name, shape in shapes.items():
        module.set_input(str(name), _random(shape, str(dtypes[name])))
    return module.run


def seconds_in_turns(before: Any, after: Any) -> tuple[float, float]:
    """The least seconds of a run of each library, on the same random inputs: what else a machine does moves medians by more than a
    search gains."""
    runs = [_runner(before), _runner(after)]
    counts = []
    for run in runs:
        run()
        start = time.perf_counter()
        run()
        counts.append(max(1, int(ROUND_SECONDS / (time.perf_counter() - start))))
    times: list[list[float]] = [[], []]
    for turn in range(ROUNDS):
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            for _ in range(counts[side]):
                runs[side]()
            times[side].append((time.perf_counter() - start) / counts[side])
    return min(times[0]), min(times[1])


def is_model_faster(before: Any, after: Any) -> bool:
    """True where the second library wins twice, the first time by more than a percent."""
    for most in (FASTER, 1.0):
        rule, found = seconds_in_turns(before, after)
        logger.info("the model: %s s by the schedule rules, %s s with what was found", rule, found)
        if found >= most * rule:
            return False
    return True


def _runs_faster(before: Any, after: Callable[[], Any]) -> bool:
    try:
        return is_model_faster(before, after())
    except Exception as error:
        logger.warning("the model does not run with what was found: %s", error)
        return False


def confirm_model(
    before: Callable[[], Any], after: Callable[[], Any], gains: dict[Any, float], leave: Callable[[Any], None]
) -> None:
    """Leaves to the rules what does not make the whole model faster.

    `gains` has the seconds that each kernel which was found faster alone gains in a run. If the model is not faster with all, the half
    that gains less is left to the rules by `leave`, and so on. `before` and `after` compile the model, the latter with what is not left.
    """
    winners = sorted(gains, key=lambda each: -gains[each])
    try:
        library = before() if winners else None
    except Exception as error:  # dynamic extents: the virtual machine's
        logger.debug("the model is not compared: %s", error)
        return
    while winners and not _runs_faster(library, after):
        for each in winners[len(winners) // 2 :]:
            leave(each)
        winners = winners[: len(winners) // 2]
