"""References to loops and blocks of a program, and the dependencies among the blocks of a scope."""

from __future__ import annotations

from enum import IntEnum

from ..._ffi import register_object
from ...runtime import Object
from ..stmt import Block, For
from . import _ffi_api


@register_object("tir.StmtSRef")
class StmtSRef(Object):
    """A loop or block of a program under a schedule, whatever it is rewritten to."""

    seq_index: int

    @property
    def stmt(self) -> Block | For | None:
        """The loop or block as it is now; None when it is gone."""
        return _ffi_api.StmtSRefStmt(self)

    @property
    def parent(self) -> StmtSRef | None:
        """The loop or block right around it."""
        return _ffi_api.StmtSRefParent(self)


class DepKind(IntEnum):
    """Why a block must stay behind another."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


@register_object("tir.Dependency")
class Dependency(Object):
    """`dst` must stay behind `src`."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


@register_object("tir.BlockScope")
class BlockScope(Object):
    """The dependencies among the blocks directly inside a block."""

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """What must stay behind the block."""
        return _ffi_api.BlockScopeGetDepsBySrc(self, block)

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """What the block must stay behind of."""
        return _ffi_api.BlockScopeGetDepsByDst(self, block)
