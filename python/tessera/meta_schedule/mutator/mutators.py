"""The mutators of the core."""

from __future__ import annotations

from ..._ffi import register_object
from .. import _ffi_api
from .mutator import Mutator

__all__ = ["MutateComputeLocation", "MutateParallel", "MutateThreadBinding", "MutateTileSize", "MutateUnroll"]


@register_object("meta_schedule.MutateComputeLocation")
class MutateComputeLocation(Mutator):
    """Computes a block somewhere else."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MutatorMutateComputeLocation)


@register_object("meta_schedule.MutateParallel")
class MutateParallel(Mutator):
    """Runs more or fewer loops in parallel, at most `max_jobs_per_core` jobs a core."""

    def __init__(self, max_jobs_per_core: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MutatorMutateParallel, max_jobs_per_core)


@register_object("meta_schedule.MutateThreadBinding")
class MutateThreadBinding(Mutator):
    """Binds another number of threads."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MutatorMutateThreadBinding)


@register_object("meta_schedule.MutateTileSize")
class MutateTileSize(Mutator):
    """Moves a factor from one tile of a loop to another."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MutatorMutateTileSize)


@register_object("meta_schedule.MutateUnroll")
class MutateUnroll(Mutator):
    """Unrolls more or fewer iterations."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MutatorMutateUnroll)
