"""Configurations of templates: a space of them while a template is read, one of them while it runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from .entities import AnnotateEntity, OtherOptionEntity, ReorderEntity, SplitEntity
from .subspaces import (
    AnnotateSpace,
    OtherOptionSpace,
    ReorderSpace,
    SplitSpace,
    VirtualAxis,
    get_factors,
    get_pow2s,
)

__all__ = [
    "AnnotateEntity",
    "ConfigEntity",
    "ConfigSpace",
    "FallbackConfigEntity",
    "InstantiationError",
    "OtherOptionEntity",
    "ReorderEntity",
    "SplitEntity",
    "get_factors",
    "get_pow2s",
]

_ENTITIES = {"sp": (SplitEntity, "size"), "re": (ReorderEntity, "perm"), "an": (AnnotateEntity, "anns")}
_ENTITIES["ot"] = (OtherOptionEntity, "val")
_TAGS = {cls: (tag, field) for tag, (cls, field) in _ENTITIES.items()}


class InstantiationError(ValueError):
    """A configuration that its template rejects (`cfg.raise_error`)."""

    def __init__(self, errors: Any) -> None:
        super().__init__(errors)
        self.errors = errors


class ConfigSpace:
    """All configurations of a template; knobs are defined while the template runs once. The first knob varies fastest."""

    is_fallback = False

    def __init__(self) -> None:
        self.space_map: OrderedDict[str, Any] = OrderedDict()
        self._collect = True
        self._entity_map: OrderedDict[str, Any] = OrderedDict()
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.flop: float = 0

    @staticmethod
    def axis(var: Any) -> VirtualAxis:
        """A loop: an extent, or an axis of a stage."""
        return VirtualAxis(var)

    reduce_axis = axis

    def _define(self, name: str, make: Any) -> list[VirtualAxis]:
        if self._collect:
            space = make()
            self.space_map[name] = space
            if not len(space):
                raise RuntimeError(f"the knob {name} has no value left; its filter takes none")
            self._entity_map[name] = space[0]
            return [VirtualAxis(1) for _ in range(space.num_output)]
        return []

    def define_split(self, name: str, axis: Any, policy: str = "factors", **kwargs: Any) -> list[VirtualAxis]:
        """A knob of factors. Policies: factors, power2, verbose (both), candidate; `num_outputs` loops come of it."""
        return self._define(name, lambda: SplitSpace(VirtualAxis(axis), policy, **kwargs))

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> list[VirtualAxis]:
        """A knob of orders. Policies: identity, all, interval_all, candidate, interleave, interleave_cuda."""
        return self._define(name, lambda: ReorderSpace(axes, policy, **kwargs))

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> list[VirtualAxis]:
        """A knob of annotations: bind_gpu, bind_gpu_virtual, locate_cache, or try, none, unroll, vec with "_" between."""
        return self._define(name, lambda: AnnotateSpace(axes, policy, **kwargs))

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """A knob of options."""
        self._define(name, lambda: OtherOptionSpace(candidate))

    def add_flop(self, flop: Any) -> None:
        """Notes how much arithmetic the program does."""
        self.flop += float(getattr(flop, "value", flop))

    def raise_error(self, msg: str) -> None:
        """Says that this configuration cannot be."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """True when nothing was said against it."""
        return not self.errors

    @property
    def dims(self) -> list[int]:
        """How many values each knob has."""
        return [len(space) for space in self.space_map.values()]

    def __len__(self) -> int:
        return int(np.prod(self.dims, dtype=np.int64)) if self.space_map else 1

    @property
    def range_length(self) -> int:
        """The number of configurations."""
        return len(self)

    def get(self, index: int) -> ConfigEntity:
        """The configuration of an index."""
        if not 0 <= index < len(self):
            raise IndexError(f"Index out of range: size {len(self)}, got index {index}")
        entities: OrderedDict[str, Any] = OrderedDict()
        rest = int(index)
        for name, space in self.space_map.items():
            rest, at = divmod(rest, len(space))
            entities[name] = space[at]
        return ConfigEntity(int(index), self.code_hash, entities, [])

    def get_rand_index(self) -> int:
        """The index of some configuration."""
        return int(np.random.randint(len(self)))

    def __iter__(self) -> Any:
        return iter(self._entity_map)

    def __getitem__(self, name: str) -> Any:
        return self._entity_map[name]

    def __setitem__(self, name: str, entity: Any) -> None:
        self._entity_map[name] = entity

    def __contains__(self, name: str) -> bool:
        return name in self._entity_map

    def __str__(self) -> str:
        rows = "".join(f"{i:4d} {name}: {space}\n" for i, (name, space) in enumerate(self.space_map.items()))
        return f"ConfigSpace (len={len(self)}, space_map=\n{rows})"


class ConfigEntity(ConfigSpace):
    """One configuration: values of knobs by name."""

    def __init__(self, index: int, code_hash: str | None, entity_map: Any, constraints: list[Any]) -> None:
        super().__init__()
        self.index = index
        self._collect = False
        self._entity_map = entity_map
        self.code_hash = code_hash
        self.constraints = constraints

    def get_flatten_feature(self) -> np.ndarray:
        """Numbers for a cost model, knob after knob."""
        return np.array([x for entity in self._entity_map.values() for x in entity.features()], dtype=np.float32)

    def get_other_option(self) -> dict[Any, Any]:
        """Values of knobs of options."""
        return {each.val: each for each in self._entity_map.values() if isinstance(each, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, Any]:
        """What a record holds of it."""
        entities = []
        for name, entity in self._entity_map.items():
            tag, field = _TAGS[type(entity)]
            value = getattr(entity, field)
            entities.append([name, tag, list(value) if isinstance(value, (tuple, range)) else value])
        return {"index": int(self.index), "code_hash": self.code_hash, "entity": entities}

    @staticmethod
    def from_json_dict(json_dict: dict[str, Any]) -> ConfigEntity:
        """The configuration of a record."""
        entities: OrderedDict[str, Any] = OrderedDict()
        for name, tag, value in json_dict["entity"]:
            if tag not in _ENTITIES:
                raise RuntimeError(f"Invalid config knob type: {tag}")
            entities[str(name)] = _ENTITIES[tag][0](value)
        return ConfigEntity(int(json_dict["index"]), json_dict["code_hash"], entities, [])

    def __str__(self) -> str:
        return f"{list(self._entity_map.items())},{self.code_hash},{self.index}"

    __repr__ = __str__


class FallbackConfigEntity(ConfigSpace):
    """What a template takes without records: no splits, loops in their order, the first of all options."""

    is_fallback = True

    def _define(self, name: str, make: Any) -> list[VirtualAxis]:
        if name not in self.space_map:
            space = make()
            self.space_map[name] = space
            if name not in self._entity_map:
                is_split = isinstance(space, SplitSpace) and space.policy != "candidate"
                self._entity_map[name] = SplitEntity([-1] + [1] * (space.num_output - 1)) if is_split else space[0]
        return [VirtualAxis(1) for _ in range(self.space_map[name].num_output)]

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Factors of a knob: each the greatest that divides what is left and is at most its constraint; -1: no bound."""
        space = self.space_map[name]
        if len(constraints) != space.num_output:
            raise ValueError(f"{name} has {space.num_output} factors, and {list(constraints)} are constraints")
        sizes: list[int] = []
        left = space.product
        for constraint in reversed([int(c) for c in constraints]):
            size = max((f for f in get_factors(left) if constraint < 0 or f <= constraint), default=1)
            sizes.insert(0, size)
            left //= size
        self._entity_map[name] = SplitEntity(sizes)

    def fallback_with_reference_log(self, ref_log: Any) -> None:
        """Takes the splits of the best record, fitted to these extents, and its other values."""
        best = min(
            (each for each in ref_log if each[1].error_no == 0), key=lambda each: np.mean(each[1].costs), default=None
        )
        if best is None:
            return
        for name, entity in best[0].config._entity_map.items():
            space = self.space_map.get(name)
            if space is None:
                continue
            if isinstance(entity, SplitEntity):
                self.fallback_split(name, [-1, *entity.size[1:]])
            else:
                self._entity_map[name] = entity

    def __str__(self) -> str:
        return f"{list(self._entity_map.items())},{self.code_hash}"

    __repr__ = __str__
