"""Each part of a model to the toolchain whose code costs least."""

from __future__ import annotations

from typing import Any

from ...ir.transform import Pass
from . import _ffi_api

__all__ = ["CollagePartition"]


def CollagePartition(config: Any, cost_estimator: Any = None) -> Pass:
    """The module divided among the targets of `config` at least cost: external ones take parts that their patterns match.

    Costs are measured, or what `cost_estimator.estimate(mod, target)` says of a part. The options
    `relay.collage.tvm_max_depth` and `relay.collage.byoc_max_depth` say how many operators, or matches, a part has.
    """
    from ..collage import CostEstimator, make_byoc_partition_rule
    from ..op.contrib.register import get_pattern_table

    estimator = cost_estimator or CostEstimator()
    targets = list(config.primitive_targets)
    external = [target for target in targets if get_pattern_table(str(target.kind.name)) is not None]
    host = next((target for target in targets if target not in external), None)
    rules = [(target, rule) for target in external for rule in make_byoc_partition_rule(str(target.kind.name))]
    return _ffi_api.CollagePartition(
        host,
        [target for target, _ in rules],
        [rule.rule_name for _, rule in rules],
        [rule.pattern for _, rule in rules],
        [lambda expr, rule=rule: bool(rule.predicate(expr)) for _, rule in rules],
        lambda mod, target: float(estimator.estimate(mod, target)),
    )
