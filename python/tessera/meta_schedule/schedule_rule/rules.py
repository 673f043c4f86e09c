"""The rules of the core."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._ffi import register_object
from .. import _ffi_api
from .schedule_rule import ScheduleRule

__all__ = [
    "AddRFactor",
    "AutoBind",
    "AutoInline",
    "CrossThreadReduction",
    "MultiLevelTiling",
    "MultiLevelTilingTensorCore",
    "MultiLevelTilingWideVector",
    "MultiLevelTilingWithIntrin",
    "ParallelizeVectorizeUnroll",
    "RandomComputeLocation",
    "ReuseType",
]


@register_object("meta_schedule.AddRFactor")
class AddRFactor(ScheduleRule):
    """Splits long reductions into parts that are summed on their own."""

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ScheduleRuleAddRFactor, max_jobs_per_core, max_innermost_factor)


@register_object("meta_schedule.AutoBind")
class AutoBind(ScheduleRule):
    """Gives blocks that have none their threads."""

    def __init__(self, max_threadblocks: int = 256, thread_extents: list[int] | None = None) -> None:
        extents = [32, 64, 128, 256, 512, 1024] if thread_extents is None else thread_extents
        self.__init_handle_by_constructor__(_ffi_api.ScheduleRuleAutoBind, max_threadblocks, extents)


@register_object("meta_schedule.AutoInline")
class AutoInline(ScheduleRule):
    """Inlines blocks that compute element by element."""

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: list[str] | None = None,
    ) -> None:
        names = [each if isinstance(each, str) else each.name for each in disallow_op or []]
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleAutoInline,
            into_producer,
            into_consumer,
            inline_const_tensor,
            disallow_if_then_else,
            require_injective,
            require_ordered,
            names,
        )


@register_object("meta_schedule.CrossThreadReduction")
class CrossThreadReduction(ScheduleRule):
    """Lets the threads of a block share a reduction."""

    def __init__(self, thread_extents: list[int]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ScheduleRuleCrossThreadReduction, thread_extents)


class ReuseType(NamedTuple):
    """A copy in a nearer memory: "no", "may" or "must" be made, at which levels of tiles, in which memory."""

    req: str
    levels: list[int]
    scope: str

    def as_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


def _as_dict(reuse: ReuseType | None) -> dict[str, Any] | None:
    return None if reuse is None else reuse.as_dict()


@register_object("meta_schedule.MultiLevelTiling")
class MultiLevelTiling(ScheduleRule):
    """Tiles in several levels: S for spatial loops, R for reductions, such as "SSRSRS"."""

    def __init__(
        self,
        structure: str,
        tile_binds: list[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: list[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleMultiLevelTiling,
            structure,
            tile_binds or [],
            max_innermost_factor,
            vector_load_lens or [],
            _as_dict(reuse_read),
            _as_dict(reuse_write),
        )


@register_object("meta_schedule.MultiLevelTilingWithIntrin")
class MultiLevelTilingWithIntrin(ScheduleRule):
    """Tiles around a tensor intrinsic that does the innermost work."""

    def __init__(
        self,
        intrin_name: str,
        structure: str,
        tile_binds: list[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: list[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleMultiLevelTilingWithIntrin,
            intrin_name,
            structure,
            tile_binds or [],
            max_innermost_factor,
            vector_load_lens or [],
            _as_dict(reuse_read),
            _as_dict(reuse_write),
        )


@register_object("meta_schedule.MultiLevelTilingWideVector")
class MultiLevelTilingWideVector(ScheduleRule):
    """Tiles so that the innermost spatial loop fills vectors of `vector_length_in_bits`."""

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleMultiLevelTilingWideVector,
            structure,
            vector_length_in_bits,
            max_innermost_factor,
            _as_dict(reuse_read),
            _as_dict(reuse_write),
        )


@register_object("meta_schedule.MultiLevelTilingTensorCore")
class MultiLevelTilingTensorCore(ScheduleRule):
    """Tiles for the matrix units of CUDA; `intrin_groups` are those of `tensor_intrin.cuda.get_wmma_intrin_group`."""

    def __init__(
        self,
        intrin_groups: list[dict[str, str]],
        structure: str,
        tile_binds: list[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: list[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
        use_software_pipeline: bool = False,
    ) -> None:
        if use_software_pipeline:
            raise NotImplementedError("use_software_pipeline is not there: leave it out")
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleMultiLevelTilingTensorCore,
            intrin_groups,
            structure,
            tile_binds or [],
            max_innermost_factor,
            vector_load_lens or [],
            _as_dict(reuse_read),
            _as_dict(reuse_write),
        )


@register_object("meta_schedule.ParallelizeVectorizeUnroll")
class ParallelizeVectorizeUnroll(ScheduleRule):
    """Runs outer loops in parallel, inner ones as vectors, and unrolls; -1 leaves one out."""

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: list[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleRuleParallelizeVectorizeUnroll,
            max_jobs_per_core,
            max_vectorize_extent,
            unroll_max_steps or [],
            unroll_explicit,
        )


@register_object("meta_schedule.RandomComputeLocation")
class RandomComputeLocation(ScheduleRule):
    """Computes blocks inside loops of their consumers, which ones by chance."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ScheduleRuleRandomComputeLocation)
