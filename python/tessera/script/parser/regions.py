"""Accesses of buffers: ranges, regions and vectors of indices."""

from __future__ import annotations

import ast
from typing import Any

from tessera import arith, ir, tir


def length_between(low: Any, high: Any) -> Any:
    """high - low, exactly the extent where `high` is written as low + extent."""
    if isinstance(low, tir.IntImm) and isinstance(high, tir.IntImm):
        return tir.IntImm(low.dtype, high.value - low.value)
    if ir.structural_equal(low, high):
        return tir.IntImm(low.dtype, 0)
    if isinstance(high, tir.Add) and ir.structural_equal(high.a, low):
        return high.b
    if isinstance(low, tir.IntImm) and low.value == 0:
        return high
    return arith.Analyzer().simplify(high - low)


def range_between(low: Any, high: Any) -> Any:
    return ir.Range.from_min_extent(low, length_between(low, high))


class BufferSlice:
    """buffer[...] with slices among the indices: a region, or a vector access."""

    def __init__(self, expressions: Any, buffer: Any, indices: list, node: ast.AST):
        self.expressions, self.buffer, self.indices, self.node = expressions, buffer, indices, node
        if len(indices) != len(buffer.shape) and not (len(buffer.shape) == 0 and indices == [()]):
            raise expressions.source.error(
                node, f"buffer {buffer.name} has {len(buffer.shape)} dimensions, {len(indices)} indices are given"
            )

    def has_slices(self) -> bool:
        return any(isinstance(index, slice) for index in self.indices)

    def _bounds(self, index: slice, dim: int) -> tuple:
        """(begin, end) of a slice, the whole dimension where they are left out."""
        extent = self.buffer.shape[dim]
        begin = tir.const(0, extent.dtype) if index.start is None else self._index(index.start)
        return begin, extent if index.stop is None else self._index(index.stop)

    def _index(self, value: Any) -> Any:
        index = self.expressions.as_expr(value, self.node)
        if index.dtype.startswith(("float", "bfloat")):
            raise self.expressions.source.error(self.node, f"an index is an integer, not {index.dtype}")
        return index

    def as_indices(self) -> list:
        """Indices of a load or store; a slice becomes a vector of indices."""
        if len(self.buffer.shape) == 0:
            return []
        return [
            self._ramp(index, dim) if isinstance(index, slice) else self._index(index)
            for dim, index in enumerate(self.indices)
        ]

    def _ramp(self, index: slice, dim: int) -> Any:
        begin, end = self._bounds(index, dim)
        step = 1 if index.step is None else index.step
        step = int(step.value) if isinstance(step, tir.IntImm) else step
        length = length_between(begin, end)
        if not isinstance(length, tir.IntImm) or not isinstance(step, int) or step == 0:
            raise self.expressions.source.error(self.node, "a vector access needs a constant length and step")
        lanes = int(length.value) // step
        if lanes == 1:
            return begin
        return tir.Ramp(begin, tir.const(step, begin.dtype), lanes)

    def as_load(self) -> Any:
        return tir.BufferLoad(self.buffer, self.as_indices())

    def as_region(self) -> Any:
        """The rectangle that the indices and slices cover."""
        ranges = []
        for dim, index in enumerate(self.indices if len(self.buffer.shape) else []):
            if isinstance(index, slice):
                if index.step not in (None, 1):
                    raise self.expressions.source.error(self.node, "a region has no steps: it is a rectangle")
                ranges.append(range_between(*self._bounds(index, dim)))
            else:
                index = self._index(index)
                ranges.append(ir.Range.from_min_extent(index, tir.const(1, index.dtype)))
        return tir.BufferRegion(self.buffer, ranges)
