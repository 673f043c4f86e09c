"""Changes to schedules whose decisions are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..._ffi import register_object
from ...runtime import Object
from ...tir import Schedule
from .. import _ffi_api

if TYPE_CHECKING:
    from ..tune_context import TuneContext

__all__ = ["Postproc", "PyPostproc"]


@register_object("meta_schedule.Postproc")
class Postproc(Object):
    """A postprocessor."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        _ffi_api.PostprocInitializeWithTuneContext(self, context)

    def apply(self, sch: Schedule) -> bool:
        """False where the schedule is none to measure."""
        return bool(_ffi_api.PostprocApply(self, sch))

    def clone(self) -> Postproc:
        """A postprocessor of its own, for another context."""
        return _ffi_api.PostprocClone(self)


@register_object("meta_schedule.PyPostproc")
class _PyPostproc(Postproc):
    def __init__(self, f_initialize: Any = None, f_apply: Any = None, f_clone: Any = None, f_as_string: Any = None):
        del f_as_string
        self.__init_handle_by_constructor__(_ffi_api.PostprocPyPostproc, f_initialize, f_apply, f_clone)


class PyPostproc:
    """A postprocessor in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyPostproc,
        "methods": ["_initialize_with_tune_context", "apply", "clone", "__str__"],
    }

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise NotImplementedError

    def apply(self, sch: Schedule) -> bool:
        """False where the schedule is none to measure."""
        raise NotImplementedError

    def clone(self) -> Postproc:
        """A postprocessor of its own, for another context."""
        raise NotImplementedError
