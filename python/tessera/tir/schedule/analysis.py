"""Questions about blocks that schedules are chosen by."""

from __future__ import annotations

from ..._ffi.registry import register_object
from ...ir import PrimExpr
from ...runtime import convert
from ...runtime.object import Object
from ..buffer import Buffer
from ..expr import IntImm
from ..function import IndexMap, PrimFunc
from ..stmt import Block, For
from ..stmt_functor import post_order_visit
from . import _ffi_api
from .block_scope import StmtSRef
from .schedule import BlockRV, Schedule


def suggest_index_map(
    buffer: Buffer, indices: list[PrimExpr], loops: list[For], predicate: PrimExpr | bool = True
) -> IndexMap | None:
    """The layout of `buffer` in which `loops` that touch it at `indices` walk from its first element to its last.

    Digits of outer loops come before those of inner ones. None where the indices are not digits of the loops.
    """
    return _ffi_api.SuggestIndexMap(buffer, indices, loops, convert(predicate))


def has_block(sch: Schedule, block_name: str) -> bool:
    """True when a function of the schedule's module has a block of that name."""
    names: set[str] = set()
    for func in sch.mod.functions.values():
        if isinstance(func, PrimFunc):
            post_order_visit(func.body, lambda node: names.add(node.name_hint) if isinstance(node, Block) else None)
    return block_name in names


def is_output_block(sch: Schedule, block: BlockRV | str) -> bool:
    """True when a block writes a parameter of its function."""
    written = [region.buffer for region in sch.get(sch.get_block(block) if isinstance(block, str) else block).writes]
    return any(
        buffer.same_as(param)
        for func in sch.mod.functions.values()
        if isinstance(func, PrimFunc)
        for param in func.buffer_map.values()
        for buffer in written
    )


class TensorizeInfo:
    """How loops of a block correspond to those of a description."""

    #: the loop of the description that a loop of the block stands for
    loop_map: dict[StmtSRef, For]
    #: the position of each loop of the description, outermost first
    desc_loop_indexer: dict[For, IntImm]
    #: what each axis of the block lacks of being divided, where it does
    block_iter_paddings: list[IntImm] | None

    def __init__(
        self,
        loop_map: dict[StmtSRef, For],
        desc_loop_indexer: dict[For, IntImm],
        block_iter_paddings: list[IntImm] | None,
    ):
        self.loop_map = loop_map
        self.desc_loop_indexer = desc_loop_indexer
        self.block_iter_paddings = block_iter_paddings


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Which loops of the block an intrinsic described by `desc_func` would take; None where they do not correspond.

    Loops are paired from the innermost outwards: axes of the same kind, extents that the description's divide.
    """
    found = _ffi_api.TensorizeLoopMapping(sch, block, desc_func, allow_padding)
    if found is None:
        return None
    ours, theirs, paddings = found
    position = {loop: IntImm("int32", len(theirs) - 1 - i) for i, loop in enumerate(theirs)}
    srefs = [(sch.get_sref(loop), other) for loop, other in zip(ours, theirs)]
    pairs = {sref: other for sref, other in srefs if sref is not None}
    return TensorizeInfo(pairs, position, None if paddings is None else list(paddings))


@register_object("tir.schedule.AutoTensorizeMappingInfo")
class AutoTensorizeMappingInfo(Object):
    """How the axes of a block would be fused for an intrinsic to fit.

    `mappings` are index maps of the block's axes `lhs_iters`; `lhs_buffer_map` says which buffer of the description each
    of its buffers stands for, `rhs_indices` where the description touches them with its axes `rhs_iters`.
    """


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc
) -> AutoTensorizeMappingInfo | None:
    """The index map (for `transform_block_layout`) after which an intrinsic described by `desc_func` fits the block.

    An axis of the description stands for all axes of the block that occur in the same operands; None where the two do not
    compute the same.
    """
    return _ffi_api.GetAutoTensorizeMappingInfo(sch, block, desc_func)
