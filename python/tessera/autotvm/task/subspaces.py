"""Spaces of one knob. The order of their entities is v0.10's: it says what an index in a stored record means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .entities import AnnotateEntity, OtherOptionEntity, ReorderEntity, SplitEntity

__all__ = ["AnnotateSpace", "OtherOptionSpace", "ReorderSpace", "SplitSpace", "VirtualAxis", "get_factors", "get_pow2s"]


def get_factors(n: int) -> list[int]:
    """All divisors of a number, in order."""
    small = [i for i in range(1, math.isqrt(n) + 1) if n % i == 0]
    return sorted({*small, *(n // i for i in small)})


def get_pow2s(n: int) -> list[int]:
    """Powers of two up to a number, in order."""
    return [1 << i for i in range(n.bit_length())]


class VirtualAxis:
    """A loop that knobs are about, known by its extent."""

    def __init__(self, var: Any, name: str = "") -> None:
        self.length: int
        if isinstance(var, VirtualAxis):
            var = var.length
        if not isinstance(var, int):
            name = name or str(getattr(getattr(var, "var", None), "name", ""))
            extent = var.dom.extent if hasattr(var, "dom") else var
            var = getattr(extent, "value", None)
            if var is None:
                raise RuntimeError(f"the extent of a loop that is split must be known, not {extent}")
        self.length = int(var)
        self.name = name

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


class _Space:
    def __init__(self, entities: list[Any]) -> None:
        self.entities = entities
        self.num_output = 0

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> Any:
        return self.entities[index]


class SplitSpace(_Space):
    """Ways to split a loop into several."""

    def __init__(self, axis: VirtualAxis, policy: str, **kwargs: Any) -> None:
        self.policy, self.product = policy, axis.length
        count = int(kwargs["num_outputs"])
        keep = kwargs.get("filter") or (lambda entity: True)
        if policy == "candidate":
            sizes = [list(size) for size in kwargs["candidate"]]
        else:
            has_no_tail = kwargs.get("no_tail", policy == "factors")
            limit = kwargs.get("max_factor", 1 << 31)
            factors = [factor for factor in self._factors() if factor <= limit]
            sizes = [
                [-1, *reversed(inner)]
                for inner in itertools.product(factors, repeat=count - 1)
                if math.prod(inner) <= self.product and not (has_no_tail and self.product % math.prod(inner))
            ]
        super().__init__([entity for entity in map(SplitEntity, sizes) if keep(entity)])
        self.num_output = count

    def _factors(self) -> list[int]:
        if self.policy == "factors":
            return get_factors(self.product)
        if self.policy == "power2":
            return get_pow2s(self.product)
        if self.policy == "verbose":  # in the order in which Python's set has them, as v0.10
            return list(set(get_factors(self.product) + get_pow2s(self.product)))
        raise RuntimeError(f"Invalid policy: {self.policy}")

    def __repr__(self) -> str:
        head = f"Split(policy={self.policy}, product={self.product}, num_outputs={self.num_output})"
        return f"{head} len={len(self)}"


def _interleaved(chains: Sequence[Sequence[int]]) -> list[int]:
    """One order of all chains: next comes the first of the chains that have most left."""
    left = [list(chain) for chain in chains]
    out: list[int] = []
    while any(left):
        out.append(max(left, key=len).pop(0))
    return out


class ReorderSpace(_Space):
    """Orders of loops."""

    def __init__(self, axes: Sequence[Any], policy: str, **kwargs: Any) -> None:
        self.policy = policy
        axes = list(axes)
        numbers = range(len(axes))

        def positions(chain: Sequence[Any]) -> list[int]:
            return [next(i for i in numbers if axes[i] is axis) for axis in chain]

        orders: list[Any]
        if policy == "identity":
            orders = [numbers]
        elif policy == "all":
            orders = list(itertools.permutations(numbers))
        elif policy == "interval_all":
            begin, end = kwargs["interval"]
            middle = itertools.permutations(numbers[begin:end])
            orders = [(*numbers[:begin], *each, *numbers[end:]) for each in middle]
        elif policy == "candidate":
            orders = [positions(each) for each in kwargs["candidate"]]
        elif policy == "interleave":
            spatial = [positions(chain) for chain in kwargs["spatial"]]
            reduction = [positions(chain) for chain in kwargs["reduce"]]
            outer = _interleaved([chain[:-1] for chain in spatial])
            orders = [outer + _interleaved([chain[-1:] for chain in spatial] + reduction)]
        elif policy == "interleave_cuda":
            spatial = [positions(chain) for chain in kwargs["spatial"]]
            reduction = [positions(chain) for chain in kwargs["reduce"]]
            outer = _interleaved([chain[:-1] for chain in spatial])
            inner = [chain[-1] for chain in spatial]
            orders = [outer + _interleaved(reduction) + inner]
        else:
            raise RuntimeError(f"Invalid policy: {policy}")
        super().__init__([ReorderEntity(order) for order in orders])
        self.num_output = len(axes)

    def __repr__(self) -> str:
        return f"Reorder(policy={self.policy}) len={len(self)}"


def _threads(count: int, is_virtual: bool) -> list[str]:
    """As many dimensions as there are loops for, the loops before them fused into the first."""
    step = 3 if is_virtual else 2
    dims = min(count // step, 3)
    if dims == 0:
        raise RuntimeError(f"Unhandled case: {count} loops cannot be bound to blocks and threads")
    names = ["x", "y", "z"][:dims][::-1]
    parts = [f"blockIdx.{name}" for name in names]
    parts += ["vthread"] * dims if is_virtual else []
    parts += [f"threadIdx.{name}" for name in names]
    return ["fuse"] * (count - len(parts)) + parts


class AnnotateSpace(_Space):
    """What may be said of loops."""

    def __init__(self, axes: Sequence[Any], policy: str, **kwargs: Any) -> None:
        self.policy = policy
        count = len(axes)
        choices: list[Any]
        if policy in ("bind_gpu", "bind_gpu_virtual"):
            choices = [_threads(count, policy == "bind_gpu_virtual")]
        elif policy == "locate_cache":
            choices = list(itertools.combinations(range(count), kwargs["num_anchor"]))
        else:
            names = ["none" if name == "try" else name for name in policy.split("_")]
            if not set(names) <= {"none", "unroll", "vec"}:
                raise RuntimeError(f"Invalid policy: {policy}")
            choices = [list(each) for each in itertools.product(names, repeat=count) if each.count("vec") <= 1]
        super().__init__([AnnotateEntity(each) for each in choices])
        self.num_output = count

    def __repr__(self) -> str:
        return f"Annotate(policy={self.policy}) len={len(self)}"


class OtherOptionSpace(_Space):
    """A list of options."""

    def __init__(self, candidate: Sequence[Any]) -> None:
        super().__init__([OtherOptionEntity(each) for each in candidate])

    def __repr__(self) -> str:
        return f"OtherOption({self.entities}) len={len(self)}"
