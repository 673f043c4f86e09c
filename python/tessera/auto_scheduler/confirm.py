"""The best of a search beside the schedule rules, when it ends."""

from __future__ import annotations

import logging
from typing import Any

from .._ffi.registry import get_global_func
from ..autotvm.measure import measure_methods
from ..autotvm.measure.build import Form
from ..autotvm.measure.confirm import FUNCTION, MeasurePlan, beside_rule, note_outcome, rule_program
from ..autotvm.measure.models import LOST_IN_MODEL, Model, by_model, confirm_model
from ..ir.transform import PassContext
from ..te import create_prim_func
from .compute_dag import LayoutRewriteOption
from .measure import LocalRunner, _CoreRunner
from .measure_record import RecordToFile, load_best_record

__all__ = ["confirm_best", "schedule_by_rules"]

logger = logging.getLogger("auto_scheduler")


def _plan_of(runner: Any) -> MeasurePlan | None:
    core = runner._runner if isinstance(runner, _CoreRunner) else None
    if not isinstance(core, measure_methods._CoreRunner) or core._runner is None:
        return None
    return MeasurePlan(core._runner, core.timeout, core.number, core.repeat, core.min_repeat_ms)


def confirm_best(tasks: Any, runner: Any, callbacks: Any, weights: Any = None) -> None:
    """Runs the best record of each task in turns with what the schedule rules make of the same tensors, and notes beside the log
    which is faster. Without a log nothing is applied later, and nothing is compared. Of tasks of a model, what does not make the whole
    model faster is left to the rules."""
    plan = _plan_of(runner)
    logs = [each.filename for each in callbacks if isinstance(each, RecordToFile)]
    if plan is None or not logs:
        return
    gains: dict[int, float] = {}  # by position
    for i, task in enumerate(tasks):
        found, _ = load_best_record(logs[0], task.workload_key, task.target)
        if found is None or len(task.task_input_names):
            continue
        try:
            # as apply_best gives it
            option = LayoutRewriteOption.get_target_default(task.target)
            schedule, args = task.compute_dag.apply_steps_from_state(found.state, option)
            program = create_prim_func(list(task.compute_dag.tensors))
        except Exception as error:  # operations that are no tensor expressions
            logger.debug("%s is not compared with the schedule rules: %s", task.workload_key, error)
            continue
        with task.target:
            outcome = beside_rule(program, Form.SCHEDULE, [schedule, list(args), FUNCTION], task.target, plan)
        if outcome is None:
            continue
        logger.info(
            "%s: %s by the schedule rules, %s found", task.workload_key, outcome.rule_seconds, outcome.found_seconds
        )
        for log in logs:
            note_outcome(log, str(task.workload_key), task.target, outcome)
        if outcome.is_faster:
            gains[i] = (weights[i] if weights else 1) * (outcome.rule_seconds - outcome.found_seconds)
    if isinstance(runner, LocalRunner):
        for model, own in by_model(tasks, gains):
            _confirm_model(model, tasks, own, logs)


def _confirm_model(model: Model, tasks: Any, gains: dict[int, float], logs: list[str]) -> None:
    from .. import relay
    from .dispatcher import ApplyHistoryBest

    def compiled(**config: Any) -> Any:
        with PassContext(opt_level=3, config=config):
            return relay.build(model.mod, target=model.target, params=model.params)

    def with_records() -> Any:
        with ApplyHistoryBest(logs[0]):
            return compiled(**{"relay.backend.use_auto_scheduler": True})

    def leave(i: int) -> None:
        for log in logs:
            note_outcome(log, str(tasks[i].workload_key), tasks[i].target, LOST_IN_MODEL)

    confirm_model(compiled, with_records, gains, leave)


def schedule_by_rules(task: Any) -> tuple[Any, Any]:
    """What the schedule rules make of a task, as a schedule, and its arguments."""
    args = list(task.compute_dag.tensors)
    outputs = [arg.op for arg in args if len(arg.op.input_tensors)]
    program = rule_program(create_prim_func(args), task.target)
    return get_global_func("schedule.ScheduleByProgram")(outputs, program), args
