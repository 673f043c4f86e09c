"""Choosing a toolchain for a model by what its code costs."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...ir.transform import module_pass

__all__ = ["CollagePartition"]


def CollagePartition(config: Any, cost_estimator: Any = None) -> Any:
    """The module as it costs least: left to the compiler, or partitioned for one of the external targets of `config`.

    Costs are measured, or what `cost_estimator.estimate(mod, target)` says. One toolchain takes all that its pattern table
    matches; parts of a model are not divided between several.
    """
    from .. import transform
    from ..collage import CostEstimator
    from ..op.contrib.register import get_pattern_table

    passes: Any = transform
    estimator = cost_estimator or CostEstimator()
    targets = list(config.primitive_targets)
    hosts = [target for target in targets if get_pattern_table(str(target.kind.name)) is None]

    def run(mod: IRModule, context: Any) -> IRModule:
        del context
        mod = passes.InferType()(mod)
        choices = [(float(estimator.estimate(mod, target)), mod) for target in hosts]
        for target in targets:
            compiler = str(target.kind.name)
            table = get_pattern_table(compiler)
            if table is None:
                continue
            steps = [passes.MergeComposite(table), passes.AnnotateTarget([compiler])]
            steps += [passes.MergeCompilerRegions(), passes.PartitionGraph()]
            parted = mod
            for step in steps:
                parted = step(parted)
            choices.append((float(estimator.estimate(mod, target)), passes.InferType()(parted)))
        return min(choices, key=lambda choice: choice[0])[1] if choices else mod

    return module_pass(run, opt_level=0, name="CollagePartition")
