"""Rules that turn a schedule and a block into the schedules to go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..._ffi import register_object
from ...runtime import Object
from ...tir import Schedule
from ...tir.schedule import BlockRV
from .. import _ffi_api

if TYPE_CHECKING:
    from ..tune_context import TuneContext

__all__ = ["PyScheduleRule", "ScheduleRule"]


@register_object("meta_schedule.ScheduleRule")
class ScheduleRule(Object):
    """A rule of a design space."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        _ffi_api.ScheduleRuleInitializeWithTuneContext(self, context)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules to go on with."""
        return list(_ffi_api.ScheduleRuleApply(self, sch, block))

    def clone(self) -> ScheduleRule:
        """A rule of its own, for another context."""
        return _ffi_api.ScheduleRuleClone(self)


@register_object("meta_schedule.PyScheduleRule")
class _PyScheduleRule(ScheduleRule):
    def __init__(self, f_initialize: Any = None, f_apply: Any = None, f_clone: Any = None, f_as_string: Any = None):
        del f_as_string
        self.__init_handle_by_constructor__(_ffi_api.ScheduleRulePyScheduleRule, f_initialize, f_apply, f_clone)


class PyScheduleRule:
    """A rule in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyScheduleRule,
        "methods": ["_initialize_with_tune_context", "apply", "clone", "__str__"],
    }

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise NotImplementedError

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules to go on with."""
        raise NotImplementedError

    def clone(self) -> ScheduleRule:
        """A rule of its own, for another context."""
        raise NotImplementedError
