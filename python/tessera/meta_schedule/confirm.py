"""The best of a search beside the schedule rules, when it ends."""

from __future__ import annotations

import logging
from typing import Any

from ..autotvm.measure.build import Form
from ..autotvm.measure.confirm import MeasurePlan, beside_rule, note_outcome, rule_program
from ..ir import IRModule
from ..tir.schedule import Schedule
from . import default_config
from .database import Database, JSONDatabase
from .runner.local_runner import _CoreRunner
from .utils import shash2hex

__all__ = ["best_schedule", "confirm_best"]

logger = logging.getLogger(__name__)


def _plan_of(runner: Any) -> MeasurePlan | None:
    if not isinstance(runner, _CoreRunner) or getattr(runner, "_is_custom", False) or runner._runner is None:
        return None
    config = runner.evaluator_config
    return MeasurePlan(runner._runner, runner.timeout_sec, config.number, config.repeat, config.min_repeat_ms)


def _found(database: Database, mod: IRModule) -> Schedule | None:
    best = database.get_top_k(database.commit_workload(mod), top_k=1)
    if not best:
        return None
    sch = Schedule(mod)
    best[0].trace.apply_to_schedule(sch, remove_postproc=False)
    return sch


def confirm_best(tasks: Any, runner: Any, database: Database) -> None:
    """Runs the best record of each task in turns with what the schedule rules make of the same program; those that lose are left to
    the rules by the database."""
    plan = _plan_of(runner)
    if plan is None:
        return
    for task in tasks:
        mod = default_config.mod(task.dispatched[0])
        sch = _found(database, mod)
        if sch is None:
            continue
        with task.target:
            outcome = beside_rule(mod["main"], Form.PROGRAM, sch.mod, task.target, plan)
        if outcome is None:
            continue
        logger.info(
            "%s: %s s by the schedule rules, %s s found", task.task_name, outcome.rule_seconds, outcome.found_seconds
        )
        database.leave_to_rules(mod, not outcome.is_faster)
        if isinstance(database, JSONDatabase):
            note_outcome(database.path_tuning_record, shash2hex(mod), task.target, outcome)


def best_schedule(database: Database, mod: IRModule, target: Any) -> Schedule | None:
    """The fastest schedule of a module: that of the best record, or the program of the schedule rules, as a schedule without a trace,
    where that lost; None where nothing ran."""
    if database.is_left_to_rules(mod):
        return Schedule(IRModule({"main": rule_program(mod["main"], target)}))
    return _found(database, mod)
