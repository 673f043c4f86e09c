"""Tiles of convolutions where a log says nothing, as v0.10's templates choose them."""

from __future__ import annotations

from typing import Any

from ...autotvm.task.space import OtherOptionEntity, SplitEntity
from ..nn._workloads import out_extents

#: Registers for sums; one less than there are of AVX-512.
_MOST_SUMS = 31


def _divisor(extent: int, most: int, step: int = 1) -> int:
    """The greatest of `most`, `most - step`, ... that divides the extent; 1 where none does."""
    return next((size for size in range(most, 0, -step) if extent % size == 0), 1)


def set_channels(cfg: Any, workload: Any, block: int, step: int = 1) -> None:
    """Blocks of that many channels of the result, and of no more of the data."""
    taken = _divisor(workload.in_filter, block, step)
    cfg["tile_ic"] = SplitEntity([workload.in_filter // taken, taken])
    cfg["tile_oc"] = SplitEntity([workload.out_filter // block, block])


def set_row(cfg: Any, workload: Any) -> None:
    """A tile is a part of a row."""
    _, width = out_extents(workload)
    taken = _divisor(width, _MOST_SUMS)
    cfg["tile_ow"] = SplitEntity([width // taken, taken])
    cfg["unroll_kw"] = OtherOptionEntity(False)


def set_rectangle(cfg: Any, workload: Any) -> None:
    """A tile is the widest rectangle whose sums fit."""
    height, width = out_extents(workload)
    columns = _divisor(width, min(width, _MOST_SUMS))
    cfg["tile_oh"] = OtherOptionEntity(_divisor(height, min(height, _MOST_SUMS // columns)))
    cfg["tile_ow"] = SplitEntity([width // columns, columns])


def set_channels_of_vectors(cfg: Any, workload: Any, lanes: int) -> None:
    """Blocks of channels no wider than a vector."""
    set_channels(cfg, workload, _divisor(workload.out_filter, lanes))
