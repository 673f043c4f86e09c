"""Changes to the decisions of a trace."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar

from ..._ffi import register_object
from ...runtime import Object
from ...tir.schedule import Trace
from .. import _ffi_api

if TYPE_CHECKING:
    from ..tune_context import TuneContext

__all__ = ["Mutator", "PyMutator"]


@register_object("meta_schedule.Mutator")
class Mutator(Object):
    """A mutator."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        _ffi_api.MutatorInitializeWithTuneContext(self, context)

    def apply(self, trace: Trace) -> Trace | None:
        """A trace with another decision; None where there is none to change."""
        return _ffi_api.MutatorApply(self, trace, random.randint(1, 2**31 - 2))

    def clone(self) -> Mutator:
        """A mutator of its own, for another context."""
        return _ffi_api.MutatorClone(self)


@register_object("meta_schedule.PyMutator")
class _PyMutator(Mutator):
    def __init__(self, f_initialize: Any = None, f_apply: Any = None, f_clone: Any = None, f_as_string: Any = None):
        del f_as_string
        self.__init_handle_by_constructor__(_ffi_api.MutatorPyMutator, f_initialize, f_apply, f_clone)


class PyMutator:
    """A mutator in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyMutator,
        "methods": ["_initialize_with_tune_context", "apply", "clone", "__str__"],
    }

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise NotImplementedError

    def apply(self, trace: Trace, _: int) -> Trace | None:
        """A trace with another decision; None where there is none to change. The int is a seed."""
        raise NotImplementedError

    def clone(self) -> Mutator:
        """A mutator of its own, for another context."""
        raise NotImplementedError
