"""What was done to a schedule, in a form that can be printed, saved and done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._ffi import register_object
from ...runtime import Object
from . import _ffi_api

if TYPE_CHECKING:
    from .schedule import Schedule


@register_object("tir.InstructionKind")
class InstructionKind(Object):
    """The name of a primitive in traces."""

    name: str


@register_object("tir.Instruction")
class Instruction(Object):
    """One call of a primitive."""

    kind: InstructionKind
    inputs: list[Any]
    attrs: list[Any]
    outputs: list[Any]


@register_object("tir.Trace")
class Trace(Object):
    """Instructions in order, and what sampling decided."""

    insts: list[Instruction]
    decisions: dict[Instruction, Any]

    def get_decision(self, inst: Instruction) -> Any:
        """What the sampling instruction decided; None for one that does not sample."""
        return self.decisions.get(inst, None)

    def as_python(self) -> list[str]:
        """One line of Python per instruction."""
        return list(_ffi_api.TraceAsPython(self))

    def as_json(self, remove_postproc: bool = False) -> Any:
        """The trace as nested lists, random variables by name."""
        del remove_postproc  # no instruction marks the beginning of post-processing
        return _ffi_api.TraceAsJSON(self)

    def apply_to_schedule(self, sch: Schedule, remove_postproc: bool = False, decision_provider: Any = None) -> None:
        """Does again on `sch` what the trace says."""
        del remove_postproc
        if decision_provider is not None:
            raise NotImplementedError("Trace.apply_to_schedule does not take a decision_provider yet")
        _ffi_api.TraceApplyToSchedule(self, sch)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule) -> None:
        """Does on `sch` what the JSON form of a trace says."""
        _ffi_api.TraceApplyJSONToSchedule(json_obj, sch)

    def __str__(self) -> str:
        lines = ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
        return "\n".join(lines + ["  " + line for line in self.as_python()])

    __repr__ = __str__

    def show(self, style: str | None = None) -> None:
        """Prints the trace as Python."""
        del style
        print(self)
