"""What was done to a schedule, in a form that can be printed, saved and done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._ffi import register_object
from ...ir import Array, Map, save_json
from ...runtime import Object
from ..expr import FloatImm, IntImm
from ..function import IndexMap
from . import _ffi_api
from .instruction import Instruction

if TYPE_CHECKING:
    from .schedule import Schedule


def _plain(value: Any) -> Any:
    """Python's own lists, numbers and text for the nodes of the core."""
    if isinstance(value, Array | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Map):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, IntImm | FloatImm):
        return value.value
    if isinstance(value, IndexMap):
        return save_json(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in the JSON of a trace")


@register_object("tir.Trace")
class Trace(Object):
    """Instructions in order, and what sampling decided."""

    insts: list[Instruction]
    decisions: dict[Instruction, Any]

    def __init__(self, insts: list[Instruction] | None = None, decisions: dict[Instruction, Any] | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Trace, insts or [], decisions or {})

    def get_decision(self, inst: Instruction) -> Any:
        """What the sampling instruction decided; None for one that does not sample."""
        return _ffi_api.TraceGetDecision(self, inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Adds an instruction at the end."""
        _ffi_api.TraceAppend(self, inst, decision)

    def pop(self) -> Instruction | None:
        """Takes the last instruction away, with its decision; None when there is none."""
        return _ffi_api.TracePop(self)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """One line of Python per instruction."""
        return list(_ffi_api.TraceAsPython(self, remove_postproc))

    def as_json(self, remove_postproc: bool = False) -> Any:
        """The trace as nested lists, random variables by name."""
        return _plain(_ffi_api.TraceAsJSON(self, remove_postproc))

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> Trace:
        """A trace in which one instruction decides otherwise."""
        return _ffi_api.TraceWithDecision(self, inst, decision, remove_postproc)

    def simplified(self, remove_postproc: bool) -> Trace:
        """A trace without instructions whose results nothing uses."""
        return _ffi_api.TraceSimplified(self, remove_postproc)

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: Callable[[Instruction, list[Any], list[Any], Any], Any] | None = None,
    ) -> None:
        """Does again on `sch` what the trace says; `decision_provider` may change decisions on the way."""
        _ffi_api.TraceApplyToSchedule(self, sch, remove_postproc, decision_provider)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule) -> None:
        """Does on `sch` what the JSON form of a trace says."""
        _ffi_api.TraceApplyJSONToSchedule(json_obj, sch)

    def __str__(self) -> str:
        lines = ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
        return "\n".join(lines + ["  " + line for line in self.as_python() or ["pass"]])

    __repr__ = __str__

    def show(self, style: str | None = None) -> None:
        """Prints the trace as Python."""
        del style
        print(self)
