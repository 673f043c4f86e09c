"""The best of a search beside the schedule rules, when it ends."""

from __future__ import annotations

import logging
from typing import Any

from ..autotvm.measure.build import Form
from ..autotvm.measure.confirm import MeasurePlan, Outcome, beside_rule, note_outcome, rule_program
from ..autotvm.measure.models import LOST_IN_MODEL, Model, by_model, confirm_model
from ..ir import IRModule
from ..ir.transform import PassContext
from ..tir.schedule import Schedule
from . import default_config
from .database import Database, JSONDatabase
from .runner.local_runner import LocalRunner, _CoreRunner
from .utils import autotvm_silencer, shash2hex

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
    the rules by the database. So are, of tasks of a model, those that do not make the whole model faster."""
    plan = _plan_of(runner)
    if plan is None:
        return
    gains: dict[int, float] = {}  # by position
    for i, task in enumerate(tasks):
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
        _note(database, mod, task.target, outcome)
        if outcome.is_faster:
            gains[i] = task.weight * (outcome.rule_seconds - outcome.found_seconds)
    if isinstance(runner, LocalRunner):
        for model, own in by_model(tasks, gains):
            _confirm_model(model, tasks, own, database)


def _note(database: Database, mod: IRModule, target: Any, outcome: Outcome) -> None:
    database.leave_to_rules(mod, not outcome.is_faster)
    if isinstance(database, JSONDatabase):
        note_outcome(database.path_tuning_record, shash2hex(mod), target, outcome)


def _confirm_model(model: Model, tasks: Any, gains: dict[int, float], database: Database) -> None:
    from .. import relay

    def compiled(**config: Any) -> Any:
        with model.target, autotvm_silencer(), PassContext(opt_level=3, config=config):
            return relay.build(model.mod, target=model.target, params=model.params)

    def with_records() -> Any:
        with database:
            return compiled(**{"relay.backend.use_meta_schedule": True})

    def leave(i: int) -> None:
        _note(database, default_config.mod(tasks[i].dispatched[0]), tasks[i].target, LOST_IN_MODEL)

    confirm_model(compiled, with_records, gains, leave)


def best_schedule(database: Database, mod: IRModule, target: Any) -> Schedule | None:
    """The fastest schedule of a module: that of the best record, or the program of the schedule rules, as a schedule without a trace,
    where that lost; None where nothing ran."""
    if database.is_left_to_rules(mod):
        return Schedule(IRModule({"main": rule_program(mod["main"], target)}))
    return _found(database, mod)
