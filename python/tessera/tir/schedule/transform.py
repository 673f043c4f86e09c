"""Steps of schedules made of several primitives."""

from __future__ import annotations

from ..function import TensorIntrin
from .analysis import get_tensorize_loop_mapping
from .schedule import BlockRV, LoopRV, Schedule


def tile_with_tensor_intrin(
    sch: Schedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Tiles the loops of a block so that the innermost are those of the intrinsic.

    Returns the outermost of these, ready for `tensorize`; None where the block does not fit. With `allow_padding` axes
    that are not divided grow by `pad_einsum` first.
    """
    info = get_tensorize_loop_mapping(sch, block, TensorIntrin.get(intrin_name).desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        sch.pad_einsum(block, [int(amount) for amount in info.block_iter_paddings])
    inner: dict[int, LoopRV] = {}
    outer: list[LoopRV] = []
    for loop in sch.get_loops(block):
        sref = sch.get_sref(loop)
        wanted = info.loop_map.get(sref) if sref is not None else None
        if wanted is None:
            outer += [loop] if inner else []  # loops before the first tile stay where they are
            continue
        rest, tile = sch.split(loop, [None, int(wanted.extent)])
        outer += [rest] if inner else []
        inner[int(info.desc_loop_indexer[wanted])] = tile
    tiles = [inner[i] for i in sorted(inner)]
    sch.reorder(*outer, *tiles)
    return tiles[0] if tiles else None
