"""The best configuration of an operator's template beside the schedule rules, when a search ends."""

from __future__ import annotations

import logging
from typing import Any

from ...te import create_prim_func
from ..measure.build import Form
from ..measure.confirm import FUNCTION, MeasurePlan, beside_rule, note_outcome
from ..measure.measure_methods import _CoreRunner

__all__ = ["confirm_best"]

logger = logging.getLogger("autotvm")


def confirm_best(tuner: Any, runner: Any, callbacks: Any) -> None:
    """Runs the best configuration in turns with what the schedule rules make of the same tensors, and notes beside the logs which is
    faster: models do not take records that lost. Templates of users are theirs, and are not compared."""
    logs = [log for each in callbacks if isinstance(log := getattr(each, "log_file", None), str)]
    is_operator = getattr(tuner.task.func, "fcustomized", True) is None
    core = runner._runner if isinstance(runner, _CoreRunner) else None
    if not logs or not is_operator or core is None or tuner.best_config is None:
        return
    plan = MeasurePlan(core, runner.timeout, runner.number, runner.repeat, runner.min_repeat_ms)
    target = tuner.task.target
    with target:
        schedule, args = tuner.task.instantiate(tuner.best_config)
        outcome = beside_rule(
            create_prim_func(list(args)), Form.SCHEDULE, [schedule, list(args), FUNCTION], target, plan
        )
    if outcome is None:
        return
    logger.info(
        "%s: %s s by the schedule rules, %s s found", tuner.task.name, outcome.rule_seconds, outcome.found_seconds
    )
    for log in logs:
        note_outcome(log, str(tuner.task.workload), target, outcome)
