"""Values of knobs, and what they do to a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["AnnotateEntity", "OtherOptionEntity", "ReorderEntity", "SplitEntity"]

_ANNOTATIONS = [
    *("none", "vec", "unroll", "blockIdx.x", "blockIdx.y", "blockIdx.z"),
    *("threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread", "fuse"),
]


class SplitEntity:
    """Factors by which a loop is split, outermost first; -1 is what is left."""

    def __init__(self, size: Sequence[int]) -> None:
        self.size = list(size)

    def apply(self, sch: Any, op: Any, axis: Any) -> list[Any]:
        """The loops that the axis of a stage becomes."""
        parts: list[Any] = []
        for i in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, math.prod(int(size) for size in self.size[i:]))
            parts.append(outer)
        return [*parts, axis]

    def features(self) -> list[float]:
        """Numbers for a cost model."""
        return [float(size) for size in self.size]

    def __repr__(self) -> str:
        return str(self.size)


class ReorderEntity:
    """An order of loops, by position."""

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = perm

    def apply(self, sch: Any, op: Any, axes: Sequence[Any]) -> list[Any]:
        """The loops in that order."""
        out = [axes[i] for i in self.perm]
        if len(out) > 1:
            sch[op].reorder(*out)
        return out

    def features(self) -> list[float]:
        """Numbers for a cost model."""
        return [float(i) for i in self.perm]

    def __repr__(self) -> str:
        return str(self.perm)


class AnnotateEntity:
    """What is said of each loop: "vec", "unroll", a thread, or "none"."""

    def __init__(self, anns: Sequence[Any]) -> None:
        self.anns = anns

    def apply(
        self,
        sch: Any,
        op: Any,
        axes: Sequence[Any],
        axis_lens: Any = None,
        max_unroll: Any = None,
        vec_size: Any = None,
        cfg: Any = None,
        source: Any = None,
    ) -> Sequence[Any]:
        """Says it of the loops of a stage; with `source`, attaches stages at the chosen loops."""
        if source is not None:  # where caches are computed
            for number, stages in enumerate(source):
                for stage in stages:
                    sch[stage].compute_at(sch[op], axes[self.anns[number]])
            return axes
        axes = list(axes)
        for i, annotation in enumerate(self.anns):
            length = axis_lens[i] if axis_lens else None
            if annotation == "unroll" and max_unroll and length and length > max_unroll:
                if cfg is not None:
                    cfg.raise_error("Too large factor for unrolling")
                continue
            if annotation == "vec" and vec_size and length and length not in vec_size:
                if cfg is not None:
                    cfg.raise_error("Wrong size of lanes in vectorization")
                continue
            self._annotate(sch, op, axes, i)
        return axes

    def _annotate(self, sch: Any, op: Any, axes: list[Any], i: int) -> None:
        from ... import te

        annotation = self.anns[i]
        if annotation == "vec":
            sch[op].vectorize(axes[i])
        elif annotation == "unroll":
            sch[op].unroll(axes[i])
        elif annotation == "fuse":
            axes[i + 1] = sch[op].fuse(axes[i], axes[i + 1])
        elif annotation != "none":
            sch[op].bind(axes[i], te.thread_axis(annotation))

    def features(self) -> list[float]:
        """Numbers for a cost model: which of the annotations each loop has."""
        return [float(name == annotation) for annotation in self.anns for name in _ANNOTATIONS]

    def __repr__(self) -> str:
        return str(self.anns)


class OtherOptionEntity:
    """One value of a list of options."""

    def __init__(self, val: Any) -> None:
        self.val = val

    def features(self) -> list[float]:
        """Numbers for a cost model."""
        return [float(self.val) if isinstance(self.val, (bool, int, float)) else 0.0]

    def __repr__(self) -> str:
        return str(self.val)
