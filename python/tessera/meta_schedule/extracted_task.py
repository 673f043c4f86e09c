"""A task of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..autotvm.measure.models import Model
    from ..ir import IRModule
    from ..target import Target

__all__ = ["ExtractedTask"]


class ExtractedTask:
    """A fused function of a model: as Relay (`mod`), as programs of blocks (`dispatched`), and how often it occurs."""

    def __init__(self, task_name: str, mod: IRModule, target: Target, dispatched: list[IRModule], weight: int) -> None:
        self.task_name, self.mod, self.target = task_name, mod, target
        self.dispatched, self.weight = list(dispatched), int(weight)
        self._model: Model | None = None  # that it was extracted from
