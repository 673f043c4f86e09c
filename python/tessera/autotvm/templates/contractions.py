"""What templates ask of the computes that they schedule: which stage does the work, and what is before and behind it."""

from __future__ import annotations

import math
from typing import Any

from ... import te

__all__ = ["MAX_PIXELS", "as_outs", "contraction_of", "inline_copies", "largest_factor", "stages_before"]


MAX_PIXELS = 64  # of a tile on CPUs


def as_outs(outs: Any) -> list[Any]:
    """The outputs of a program, given as one tensor or several."""
    return [outs] if isinstance(outs, te.Tensor) else list(outs)


def largest_factor(extent: int, most: int) -> int:
    """The largest divisor of an extent that is no more than `most`."""
    return next(size for size in range(min(extent, most), 0, -1) if extent % size == 0)


def stages_before(outs: Any) -> list[Any]:
    """All computes that the outputs come from, themselves among them, consumers before producers."""
    seen: list[Any] = []

    def visit(op: Any) -> None:
        if not isinstance(op, te.ComputeOp) or any(op.same_as(each) for each in seen):
            return
        for tensor in op.input_tensors:
            visit(tensor.op)
        seen.append(op)

    for out in as_outs(outs):
        visit(out.op)
    return seen[::-1]


def _work(op: Any) -> int:
    axes = [*op.axis, *op.reduce_axis]
    return math.prod(int(axis.dom.extent) for axis in axes) if op.reduce_axis else 0


def contraction_of(outs: Any) -> Any:
    """The reduction that does most of the work."""
    found = max(stages_before(outs), key=_work, default=None)
    if found is None or not found.reduce_axis:
        raise ValueError("a template schedules contractions, and nothing is reduced here")
    return found.output(0)


def inline_copies(schedule: Any, outs: Any, keep: Any = ()) -> None:
    """Puts what is computed element by element (padding, packing, casts) into its consumers; outputs and `keep` stay."""
    stay = [tensor.op for tensor in (*as_outs(outs), *keep)]
    for op in stages_before(outs):
        if not op.reduce_axis and not any(op.same_as(each) for each in stay):
            schedule[op.output(0)].compute_inline()
