"""What a search found beside what the schedule rules make of the same work: measured in turns, and the outcome written beside the log,
so that what is applied later is not slower than what is compiled without a search."""

from __future__ import annotations

import json
import logging
import math
import os
import struct
from typing import Any, NamedTuple

from ..._ffi.registry import get_global_func
from ..._ffi.runtime_ctypes import DataType
from ...contrib.utils import tempdir
from ...ir import IRModule
from ...runtime import ShapeTuple
from ...tir import BufferStore, PrimFunc, stmt_functor
from .build import Form, build_candidates
from .measure import MeasureErrorNo

__all__ = [
    "MeasurePlan",
    "Outcome",
    "beside_rule",
    "left_to_rules",
    "note_outcome",
    "plans_beside_rule",
    "rule_program",
]

logger = logging.getLogger("autotvm")

FUNCTION = "main"


class MeasurePlan(NamedTuple):
    """How a runner measures; `core` is its module of the core."""

    core: Any
    timeout: float
    number: int
    repeat: int
    min_repeat_ms: int

    def timing(self) -> tuple[float, int, int, int]:
        """Timeout, number, repeat and min_repeat_ms of a comparison: what is compared runs for a while."""
        return (float(self.timeout), self.number, max(self.repeat, 3), max(self.min_repeat_ms, 20))


class Outcome(NamedTuple):
    """Seconds of both, in turns, and whether what was found is faster, by more than chance, and right."""

    is_faster: bool
    rule_seconds: float
    found_seconds: float


def rule_program(program: PrimFunc, target: Any) -> PrimFunc:
    """What the schedule rules make of a program of blocks."""
    return get_global_func("topi.cpu.schedule_default")(program, target)


def _count_inputs(program: PrimFunc) -> int | None:
    """How many of the parameters are inputs, which come first; None where results do not come last."""
    stored: set[Any] = set()
    stmt_functor.post_order_visit(
        program.body, lambda node: stored.add(node.buffer.data) if isinstance(node, BufferStore) else None
    )
    data = [program.buffer_map[param].data for param in program.params]
    is_result = [any(each.same_as(other) for other in stored) for each in data]
    inputs = len(is_result) - sum(is_result)
    return inputs if not any(is_result[:inputs]) and inputs < len(data) else None


def _median(times: Any) -> float:
    values = sorted(struct.unpack(f"@{len(times) // 8}d", bytes(times)))
    return values[len(values) // 2] if values else math.inf


def beside_rule(program: PrimFunc, form: Form, found: Any, target: Any, plan: MeasurePlan) -> Outcome | None:
    """Runs a candidate, given in a form, in turns with what the rules make of `program`, the same work as blocks. Both are called
    "main". None where there is nothing to compare: the rules cannot schedule it, or one of both does not run."""
    inputs = _count_inputs(program)
    if inputs is None:
        return None
    args: list[Any] = []
    for param in program.params:
        buffer = program.buffer_map[param]
        if not all(hasattr(extent, "value") for extent in buffer.shape):
            return None
        args += [ShapeTuple([int(extent) for extent in buffer.shape]), DataType(str(buffer.dtype))]
    try:
        by_rule = rule_program(program, target).with_attr("global_symbol", FUNCTION)
    except Exception as error:
        logger.debug("the schedule rules make nothing of it: %s", error)
        return None
    folder = tempdir()
    paths = [folder.relpath("rule.so"), folder.relpath("found.so")]
    built = build_candidates(Form.PROGRAM, [IRModule({FUNCTION: by_rule})], paths[:1], target)
    built += build_candidates(form, [found], paths[1:], target)
    if any(each.error for each in built):
        return None
    kind = int(getattr(target.kind, "device_type", 1))
    return _told(plan.core["in_turns"](*paths, FUNCTION, *plan.timing(), kind, inputs, *args))


def _told(answer: Any) -> Outcome | None:
    """What the core says of two kernels in turns; None where one of both does not run."""
    problem, message, is_faster, rule_times, found_times = answer
    if int(problem) and int(problem) != MeasureErrorNo.WRONG_ANSWER:
        logger.debug("not compared with the rule's kernel: %s", message)
        return None
    if int(problem):
        logger.warning("what was found is wrong, the schedule rules' kernel is taken: %s", message)
    return Outcome(bool(is_faster), _median(rule_times), _median(found_times))


def plans_beside_rule(primitive: Any, plans: Any, target: Any, plan: MeasurePlan) -> Outcome | None:
    """Runs a kernel of a model by plans of schedule rules in turns with the same kernel as its rules plan it."""
    return _told(plan.core["plans_in_turns"](primitive, target, plans, *plan.timing()))


# ---- outcomes beside a log ---------------------------------------------------------------------------------------------


def _path_of(log: str) -> str:
    return os.fspath(log) + ".rules"


def note_outcome(log: str, workload: str, target: Any, outcome: Outcome) -> None:
    """Writes, as one line, whether a workload of a log is left to the rules."""
    line = {
        "workload": workload,
        "target": str(target),
        "is_faster": outcome.is_faster,
        "rule_seconds": outcome.rule_seconds,
        "found_seconds": outcome.found_seconds,
    }
    text = json.dumps({key: None if value == math.inf else value for key, value in line.items()})
    with open(_path_of(log), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def left_to_rules(log: str) -> set[tuple[str, str]]:
    """(workload, target) of those whose best record lost; the last line about each counts. Broken lines are reported and skipped."""
    out: set[tuple[str, str]] = set()
    if not os.path.exists(_path_of(log)):
        return out
    with open(_path_of(log), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                known = json.loads(line)
                key, is_faster = (str(known["workload"]), str(known["target"])), bool(known["is_faster"])
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("%s:%d: not an outcome: %s", _path_of(log), number, error)
                continue
            if is_faster:
                out.discard(key)
            else:
                out.add(key)
    return out
