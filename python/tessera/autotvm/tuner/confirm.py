"""The best configuration of an operator's template beside the schedule rules, when a search ends."""

from __future__ import annotations

import logging
from typing import Any

from ...te import create_prim_func
from ..measure.build import Form
from ..measure.confirm import FUNCTION, MeasurePlan, Outcome, beside_rule, note_outcome, plans_beside_rule
from ..measure.measure_methods import _CoreRunner
from ..task.history import planned_kernels

__all__ = ["confirm_best"]

logger = logging.getLogger("autotvm")


def _in_model(task: Any, config: Any, plan: MeasurePlan) -> Outcome | None:
    """The kernels of the task's model that the configuration decides about, in turns with those of their rules; None where it decides
    about none."""
    mod, params = task._model
    kernels = planned_kernels(
        mod, params, task.target, lambda _, workload: config if workload == task.workload else None
    )
    found = [plans_beside_rule(kernel.primitive, kernel.plans, task.target, plan) for kernel in kernels.values()]
    outcomes = [each for each in found if each is not None]
    if not outcomes:
        return None
    return Outcome(
        len(outcomes) == len(found) and all(each.is_faster for each in outcomes),
        sum(each.rule_seconds for each in outcomes),
        sum(each.found_seconds for each in outcomes),
    )


def _as_template(task: Any, config: Any, plan: MeasurePlan) -> Outcome | None:
    """The template's schedule in turns with what the rules make of the same tensors."""
    schedule, args = task.instantiate(config)
    found = [schedule, list(args), FUNCTION]
    return beside_rule(create_prim_func(list(args)), Form.SCHEDULE, found, task.target, plan)


def confirm_best(tuner: Any, runner: Any, callbacks: Any) -> None:
    """Runs the best configuration in turns with what the schedule rules make of the same work, and notes beside the logs which is
    faster: models do not take records that lost. For the task of a model its kernels are compared, as records change them; for
    others the template. Templates of users are theirs, and are not compared."""
    logs = [log for each in callbacks if isinstance(log := getattr(each, "log_file", None), str)]
    is_operator = getattr(tuner.task.func, "fcustomized", True) is None
    core = runner._runner if isinstance(runner, _CoreRunner) else None
    if not logs or not is_operator or core is None or tuner.best_config is None:
        return
    plan = MeasurePlan(core, runner.timeout, runner.number, runner.repeat, runner.min_repeat_ms)
    task = tuner.task
    with task.target:
        outcome = _in_model(task, tuner.best_config, plan) if task._model else None
        outcome = outcome or _as_template(task, tuner.best_config, plan)
    if outcome is None:
        return
    logger.info("%s: %s s by the schedule rules, %s s found", task.name, outcome.rule_seconds, outcome.found_seconds)
    for log in logs:
        note_outcome(log, str(task.workload), task.target, outcome)
