"""Design spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..._ffi import register_object
from ...ir import IRModule
from ...runtime import Object
from ...tir.schedule import Schedule
from .. import _ffi_api

if TYPE_CHECKING:
    from ..tune_context import TuneContext

__all__ = ["PySpaceGenerator", "SpaceGenerator", "create"]


@register_object("meta_schedule.SpaceGenerator")
class SpaceGenerator(Object):
    """Gives the schedules whose traces are the design space of a module."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        _ffi_api.SpaceGeneratorInitializeWithTuneContext(self, context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The design space."""
        return list(_ffi_api.SpaceGeneratorGenerateDesignSpace(self, mod))

    def clone(self) -> SpaceGenerator:
        """A generator of its own, for another context."""
        return _ffi_api.SpaceGeneratorClone(self)


@register_object("meta_schedule.PySpaceGenerator")
class _PySpaceGenerator(SpaceGenerator):
    def __init__(self, f_initialize: Any = None, f_generate: Any = None, f_clone: Any = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SpaceGeneratorPySpaceGenerator, f_initialize, f_generate, f_clone)


class PySpaceGenerator:
    """A design space in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PySpaceGenerator,
        "methods": ["_initialize_with_tune_context", "generate_design_space", "clone"],
    }

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise NotImplementedError

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The design space."""
        raise NotImplementedError

    def clone(self) -> SpaceGenerator:
        """A generator of its own, for another context."""
        raise NotImplementedError


@register_object("meta_schedule.PostOrderApply")
class PostOrderApply(SpaceGenerator):
    """Each rule of the context on each block; `f_block_filter` may leave blocks out."""

    def __init__(self, f_block_filter: Callable[[Any], bool] | None = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SpaceGeneratorPostOrderApply, f_block_filter)


@register_object("meta_schedule.ScheduleFn")
class ScheduleFn(SpaceGenerator):
    """What a function makes of a schedule: it changes it, or returns one or several."""

    def __init__(self, sch_fn: Callable[[Schedule], Any]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SpaceGeneratorScheduleFn, sch_fn)


@register_object("meta_schedule.SpaceGeneratorUnion")
class SpaceGeneratorUnion(SpaceGenerator):
    """All that several generators give."""

    def __init__(self, space_generators: list[SpaceGenerator]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SpaceGeneratorSpaceGeneratorUnion, space_generators)


def create(kind: str | Callable = "post_order_apply", *args: Any, **kwargs: Any) -> SpaceGenerator:
    """A generator of a kind: "post_order_apply", "union", or a function of schedules."""
    if callable(kind):
        return ScheduleFn(kind, *args, **kwargs)
    kinds: dict[str, Any] = {"post_order_apply": PostOrderApply, "union": SpaceGeneratorUnion}
    if kind not in kinds:
        raise ValueError(f"Unknown SpaceGenerator: {kind}; there are {', '.join(kinds)}, and functions of schedules")
    return kinds[kind](*args, **kwargs)
