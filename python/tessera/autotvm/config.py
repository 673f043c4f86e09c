"""Configurations of templates: values of knobs, and what they do to a stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "AnnotateEntity",
    "ConfigEntity",
    "FallbackConfigEntity",
    "OtherOptionEntity",
    "ReorderEntity",
    "SplitEntity",
    "get_config",
]


class SplitEntity:
    """Factors by which a loop is split, outermost first; -1 is what is left."""

    def __init__(self, size: Sequence[int]) -> None:
        self.size = list(size)

    def apply(self, sch: Any, op: Any, axis: Any) -> list[Any]:
        """The loops that the axis of a stage becomes."""
        parts: list[Any] = []
        for factor in reversed(self.size[1:]):
            axis, inner = sch[op].split(axis, int(factor))
            parts.insert(0, inner)
        return [axis, *parts]

    def __repr__(self) -> str:
        return str(self.size)


class ReorderEntity:
    """An order of loops, by position."""

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = list(perm)

    def apply(self, sch: Any, op: Any, axes: Sequence[Any]) -> list[Any]:
        """The loops in that order."""
        out = [axes[i] for i in self.perm]
        if len(out) > 1:
            sch[op].reorder(*out)
        return out


class AnnotateEntity:
    """What is said of each loop: "vec", "unroll" or "none"."""

    def __init__(self, anns: Sequence[str]) -> None:
        self.anns = list(anns)

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
        """Says it of the loops of a stage."""
        del axis_lens, max_unroll, vec_size, cfg, source
        for annotation, axis in zip(self.anns, axes):
            if annotation == "vec":
                sch[op].vectorize(axis)
            elif annotation == "unroll":
                sch[op].unroll(axis)
        return axes


class OtherOptionEntity:
    """One value of a list of options."""

    def __init__(self, val: Any) -> None:
        self.val = val


class ConfigEntity:
    """Values of knobs by name: `cfg["tile_x"].apply(...)`, `cfg["unroll"].val`."""

    is_fallback = False

    def __init__(self) -> None:
        self._entity_map: dict[str, Any] = {}
        self._flops = 0

    def __getitem__(self, name: str) -> Any:
        return self._entity_map[name]

    def __setitem__(self, name: str, entity: Any) -> None:
        self._entity_map[name] = entity

    def __contains__(self, name: str) -> bool:
        return name in self._entity_map

    def add_flop(self, flop: Any) -> None:
        """Notes how much arithmetic the program does."""
        self._flops += int(getattr(flop, "value", flop))

    def valid(self) -> bool:
        """True: no knob has a value that cannot be."""
        return True


def _extent_of(axis: Any) -> int:
    if isinstance(axis, int):
        return axis
    extent = getattr(axis, "length", None)
    if extent is None:
        extent = axis.dom.extent
    return int(getattr(extent, "value", extent))


class FallbackConfigEntity(ConfigEntity):
    """What a template takes without records: no splits, loops in their order, the first of all options."""

    is_fallback = True

    def define_split(self, name: str, axis: Any, policy: str = "factors", **kwargs: Any) -> list[Any]:
        """A knob of factors: one for the outermost loop, all of it; the rest 1."""
        del policy
        count = int(kwargs.get("num_outputs", 2))
        self._entity_map.setdefault(name, SplitEntity([-1] + [1] * (count - 1)))
        _extent_of(axis)
        return [axis] * count

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> Sequence[Any]:
        """A knob of orders."""
        del policy, kwargs
        self._entity_map.setdefault(name, ReorderEntity(range(len(axes))))
        return axes

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> Sequence[Any]:
        """A knob of annotations."""
        del policy, kwargs
        self._entity_map.setdefault(name, AnnotateEntity(["none"] * len(axes)))
        return axes

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """A knob of options."""
        self._entity_map.setdefault(name, OtherOptionEntity(candidate[0]))

    def axis(self, var: Any) -> Any:
        """A loop whose extent a knob is about."""
        return var

    reduce_axis = axis

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Factors of a knob, by the greatest that each may be; -1 is what is left, and takes no factor."""
        self._entity_map[name] = SplitEntity([-1] + [max(1, int(c)) for c in list(constraints)[1:]])


_current = FallbackConfigEntity()


def get_config() -> ConfigEntity:
    """The configuration of the template that is running."""
    return _current
