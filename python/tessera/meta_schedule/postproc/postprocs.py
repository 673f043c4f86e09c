"""The postprocessors of the core."""

from __future__ import annotations

from ..._ffi import register_object
from .. import _ffi_api
from .postproc import Postproc

__all__ = [
    "DisallowDynamicLoop",
    "RewriteCooperativeFetch",
    "RewriteLayout",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteTensorize",
    "RewriteUnboundBlock",
    "VerifyGPUCode",
]


@register_object("meta_schedule.DisallowDynamicLoop")
class DisallowDynamicLoop(Postproc):
    """Rejects programs with loops of unknown extent."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocDisallowDynamicLoop)


@register_object("meta_schedule.RewriteCooperativeFetch")
class RewriteCooperativeFetch(Postproc):
    """Divides the loops that fetch a copy among threads."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteCooperativeFetch)


@register_object("meta_schedule.RewriteLayout")
class RewriteLayout(Postproc):
    """Gives buffers whose layout is free the order in which they are read."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteLayout)


@register_object("meta_schedule.RewriteParallelVectorizeUnroll")
class RewriteParallelVectorizeUnroll(Postproc):
    """Does what the rule ParallelizeVectorizeUnroll noted."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteParallelVectorizeUnroll)


@register_object("meta_schedule.RewriteReductionBlock")
class RewriteReductionBlock(Postproc):
    """Gives the inits of reductions blocks of their own."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteReductionBlock)


@register_object("meta_schedule.RewriteTensorize")
class RewriteTensorize(Postproc):
    """Replaces blocks by the intrinsics noted on them."""

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteTensorize, vectorize_init_loop)


@register_object("meta_schedule.RewriteUnboundBlock")
class RewriteUnboundBlock(Postproc):
    """Binds threads where no rule did."""

    def __init__(self, max_threadblocks: int = 256) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocRewriteUnboundBlock, max_threadblocks)


@register_object("meta_schedule.VerifyGPUCode")
class VerifyGPUCode(Postproc):
    """Rejects programs that need more than the GPU has."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PostprocVerifyGPUCode)
