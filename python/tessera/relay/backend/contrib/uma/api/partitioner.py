"""What a UMA backend takes of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ......ir import IRModule
from ......ir.transform import PassContext, Sequential
from ..... import transform
from .....build_module import bind_params_by_name
from .....op.contrib.register import register_pattern_table
from .utils import PassPhase

__all__ = ["UMAPartitioner"]


class UMAPartitioner:
    """Cuts models by patterns, with passes before and after."""

    def __init__(self, target_name: str, merge_compiler_regions: bool = True) -> None:
        self.target_name = target_name
        self.merge_compiler_regions = merge_compiler_regions
        self._relay_passes: list[tuple[PassPhase, Any]] = []
        self._patterns: list[tuple[str, Any, Callable[[Any], bool]]] = []

    def add_pattern(self, name: str, pattern: Any, predicate: Callable[[Any], bool] | None = None) -> None:
        """A pattern of operators that become one composite function, of the name `<target>.<name>`."""
        self._patterns.append((f"{self.target_name}.{name}", pattern, predicate or (lambda match: True)))

    def _pattern_table(self) -> list[tuple]:
        return list(self._patterns)

    def register(self) -> None:
        """Makes the table of patterns known by the name of the target."""
        register_pattern_table(self.target_name, self._pattern_table)

    def _passes(self, phase: PassPhase) -> list[Any]:
        return [each for when, each in self._relay_passes if when == phase]

    def partition(self, mod: IRModule, params: dict[str, Any] | None = None) -> IRModule:
        """The module with what the patterns match in functions for the target. Constants are arguments of them."""
        mod = IRModule(dict(mod.functions), dict(mod.type_definitions))
        if params:
            mod["main"] = bind_params_by_name(mod["main"], params)
        passes = [transform.InferType(), *self._passes(PassPhase.PRE_PARTITIONING), transform.InferType()]
        passes += [transform.MergeComposite(self._pattern_table()), transform.AnnotateTarget(self.target_name)]
        if self.merge_compiler_regions:
            passes.append(transform.MergeCompilerRegions())
        passes += [transform.InferType(), transform.PartitionGraph(bind_constants=False)]
        for phase in (PassPhase.POST_PARTITIONING_0, PassPhase.POST_PARTITIONING_1):
            passes += self._passes(phase)
        with PassContext(opt_level=3):
            return Sequential([*passes, transform.InferType()])(mod)
