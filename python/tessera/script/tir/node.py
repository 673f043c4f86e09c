"""Parts of buffers as values: `A[0:16, 3]` before it is a load, a region or a vector."""

from __future__ import annotations

from typing import Any

from ... import arith, ir, tir
from ...runtime.object_generic import ObjectGeneric, convert

__all__ = ["BufferSlice", "Slice"]


class Slice:
    """Indices from `start` up to `stop`; without `stop`, the one index `start`."""

    def __init__(self, start: Any, stop: Any = None, step: int = 1, span: Any = None):
        self.start, self.stop, self.step, self.span = start, stop, step, span

    def as_index_expr(self, report_error: Any) -> Any:
        """As an index: the start, or a vector of the indices, whose number must be known."""
        if self.stop is None:
            return self.start
        extent = arith.Analyzer().simplify(convert(self.stop) - self.start)
        if not isinstance(extent, tir.IntImm):
            return report_error(f"a slice used as an index has a constant length, not {extent}", self.span)
        return tir.Ramp(self.start, self.step, extent.value // self.step)


class BufferSlice(ObjectGeneric):
    """An access to part of a buffer."""

    def __init__(self, buffer: Any, indices: Any, report_error: Any, span: Any = None):
        if len(indices) != len(buffer.shape):
            report_error(f"buffer {buffer.name} has {len(buffer.shape)} dimensions, not {len(indices)}", span)
        self.buffer, self.report_error, self.span = buffer, report_error, span
        self.slices = [index if isinstance(index, Slice) else Slice(index) for index in indices]

    def __str__(self) -> str:
        parts = (str(s.start) if s.stop is None else f"{s.start} : {s.stop}" for s in self.slices)
        return f"{self.buffer.name}[{', '.join(parts)}]"

    def asobject(self) -> Any:
        """A load of the element, or of a vector of elements."""
        return tir.BufferLoad(self.buffer, [s.as_index_expr(self.report_error) for s in self.slices], self.span)

    def astype(self, dtype: str, span: Any = None) -> Any:
        """The elements as another type."""
        return self.asobject().astype(dtype, span)

    def as_buffer_region(self, analyzer: Any = None) -> Any:
        """The region that is accessed."""
        analyzer = analyzer or arith.Analyzer()
        ranges = []
        for s in self.slices:
            extent = 1 if s.stop is None else analyzer.simplify(convert(s.stop) - s.start)
            ranges.append(ir.Range.from_min_extent(s.start, extent))
        return tir.BufferRegion(self.buffer, ranges)

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.buffer.dtype
