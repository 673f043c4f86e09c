"""Buffers to be placed and their pool allocations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._ffi.registry import register_object
from ...ir.memory_pools import PoolInfo
from ...ir.transform import PassContext
from ...runtime.object import Object
from . import _ffi_api

#: The annotation of an allocation that lists the pools it may go to.
CANDIDATE_MEMORY_POOL_ATTR = "candidate_memory_pools"


def use_workspace_io_is_enabled() -> bool:
    """Whether the current pass context asks for inputs and outputs in the workspace."""
    return bool(PassContext.current().config.get("tir.usmp.use_workspace_io", False))


@register_object("tir.usmp.BufferInfo")
class BufferInfo(Object):
    """An allocation: its size, the pools it may go to, and the buffers that are live at the same time."""

    def __init__(
        self, name_hint: str, size_bytes: int, pool_candidates: Sequence[PoolInfo], alignment: int | None = None
    ):
        self.__init_handle_by_constructor__(_ffi_api.BufferInfo, name_hint, size_bytes, pool_candidates, alignment or 1)

    def set_conflicts(self, conflicts: Sequence[BufferInfo]) -> None:
        """Names the buffers that must not overlap this one."""
        _ffi_api.BufferInfoSetConflicts(self, conflicts)


@register_object("tir.usmp.BufferInfoAnalysis")
class BufferInfoAnalysis(Object):
    """`buffer_info_stmts`: buffers and the statements that allocate them; `memory_pressure`: the most bytes live at once."""


@register_object("tir.usmp.PoolAllocation")
class PoolAllocation(Object):
    """The allocation of a buffer: a pool and an offset in it."""

    def __init__(self, pool_info: PoolInfo, byte_offset: int):
        self.__init_handle_by_constructor__(_ffi_api.PoolAllocation, pool_info, byte_offset)


@register_object("tir.usmp.AllocatedPoolInfo")
class AllocatedPoolInfo(Object):
    """A pool that a function takes: how many bytes of it, and as which parameter."""

    def __init__(self, pool_info: PoolInfo, allocated_size: int, pool_var_idx: int = 0):
        self.__init_handle_by_constructor__(_ffi_api.AllocatedPoolInfo, pool_info, allocated_size, pool_var_idx)


def create_array_buffer_info(buffer_info_map: Any) -> list[BufferInfo]:
    """The buffers of an analysis in their order."""
    return list(_ffi_api.CreateArrayBufferInfo(buffer_info_map))


def assign_stmt_pool_allocations(buffer_info_map: Any, pool_allocations: Any) -> Any:
    """The pool allocations of buffers as those of the statements that allocate them."""
    return _ffi_api.AssignStmtPoolAllocations(buffer_info_map, pool_allocations)
