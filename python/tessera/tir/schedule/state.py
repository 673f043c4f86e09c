"""The program under a schedule."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from ..._ffi import register_object
from ...ir import IRModule
from ...runtime import Object
from ..function import PrimFunc
from ..stmt import Block, BlockRealize, For
from . import _ffi_api
from .block_scope import BlockScope, StmtSRef


class CachedFlags(NamedTuple):
    """What is known of a block."""

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


class ScheduleDebugMask(IntEnum):
    """What v0.10 could verify after each rewrite. Here the state has nothing that could go stale."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


def _parse_mod(mod: PrimFunc | IRModule) -> IRModule:
    if isinstance(mod, PrimFunc):
        return IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise TypeError(f"a schedule is of a PrimFunc or an IRModule, not of a {type(mod).__name__}")
    return mod


def _parse_debug_mask(debug_mask: str | int) -> int:
    if isinstance(debug_mask, str):
        if debug_mask not in ("all", "none"):
            raise ValueError(f'debug_mask is "all", "none" or an int, not "{debug_mask}"')
        return 3 if debug_mask == "all" else 0
    if not isinstance(debug_mask, int):
        raise TypeError(f'debug_mask is "all", "none" or an int, not a {type(debug_mask).__name__}')
    return int(debug_mask)


@register_object("tir.ScheduleState")
class ScheduleState(Object):
    """A module whose loops and blocks are known by reference while it is rewritten."""

    debug_mask: int

    def __init__(self, mod: PrimFunc | IRModule, *, debug_mask: str | int = "none"):
        self.__init_handle_by_constructor__(_ffi_api.ScheduleState, _parse_mod(mod), _parse_debug_mask(debug_mask))

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        return _ffi_api.ScheduleStateGetMod(self)

    def get_sref(self, stmt: Block | For) -> StmtSRef | None:
        """The reference to a loop or block of the module; None for one that is not in it."""
        return _ffi_api.ScheduleStateGetSRef(self, stmt)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies among the blocks inside a block."""
        return _ffi_api.ScheduleStateGetBlockScope(self, block_sref)

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        return CachedFlags(*(bool(flag) for flag in _ffi_api.ScheduleStateGetCachedFlags(self, block_sref)))

    def replace(
        self,
        src_sref: StmtSRef,
        tgt_stmt: Block | For | BlockRealize,
        block_sref_reuse: dict[Block, Block] | None = None,
    ) -> None:
        """Replaces a statement by another. Blocks and loops are found again by their variables."""
        del block_sref_reuse
        _ffi_api.ScheduleStateReplace(self, src_sref, tgt_stmt)


__all__: list[Any] = ["CachedFlags", "ScheduleDebugMask", "ScheduleState"]
