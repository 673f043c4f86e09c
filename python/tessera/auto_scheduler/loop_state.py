"""Schedules under search: stages, their loops, and the steps that change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._ffi.registry import register_object
from ..runtime.object import Object
from ..te.tensor import Operation, Tensor
from . import _ffi_api

__all__ = ["Iterator", "Stage", "State", "StateObject"]


@register_object("auto_scheduler.Iterator")
class Iterator(Object):
    """A loop: its name, its range where that is known, and how it runs."""


@register_object("auto_scheduler.Stage")
class Stage(Object):
    """A stage: its operation, its loops, and where it is computed."""

    COMPUTE_AT_TRANS_TABLE: ClassVar[dict[str, int]] = {"root": 0, "inlined": 1, "iter": 2}


@register_object("auto_scheduler.State")
class StateObject(Object):
    """A state of the core; it does not change."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateObject) and bool(_ffi_api.StateEqual(self, other))

    __hash__ = Object.__hash__

    def __str__(self) -> str:
        return str(_ffi_api.StateText(self, False))

    __repr__ = __str__


class State:
    """A state that its primitives change: `stages`, and the `transform_steps` that led there. Stages are named by operation,
    tensor or number; operations from before a cache or an rfactor go on naming their stages."""

    ANNOTATION_TRANS_TABLE: ClassVar[dict[str, int]] = {
        "none": 0,
        "unroll": 1,
        "vectorize": 2,
        "parallel": 3,
        "vthread": 4,
        "blockIdx.x": 5,
        "threadIdx.x": 6,
        "blockIdx.y": 7,
        "threadIdx.y": 8,
        "blockIdx.z": 9,
        "threadIdx.z": 10,
        "tensorize": 11,
    }

    def __init__(self, state_object: StateObject, dag: Any) -> None:
        self.state_object = state_object
        self.compute_dag = dag
        self.stage_id_map: dict[Any, int] = {}
        self._update_stage_id_map()

    @property
    def stages(self) -> Any:
        """All stages."""
        return self.state_object.stages

    @property
    def transform_steps(self) -> Any:
        """All steps."""
        return self.state_object.transform_steps

    @property
    def stage_ops(self) -> list[Operation]:
        """The operation of each stage."""
        return [stage.op for stage in self.stages]

    # ---- loops -------------------------------------------------------------------------------------------------

    def bind(self, stage: Any, iterator: Iterator, thread_name: str) -> Iterator:
        """Runs a loop on threads: "vthread", "blockIdx.x", "threadIdx.x", ..."""
        if thread_name not in State.ANNOTATION_TRANS_TABLE:
            raise ValueError(f"Invalid thread_name: {thread_name}")
        code = State.ANNOTATION_TRANS_TABLE[thread_name]
        return self._keep(_ffi_api.StateBind(self.state_object, self._resolve_stage_id(stage), iterator, code))

    def parallel(self, stage: Any, iterator: Iterator) -> Iterator:
        """Runs a loop on all cores."""
        return self._keep(_ffi_api.StateParallel(self.state_object, self._resolve_stage_id(stage), iterator))

    def unroll(self, stage: Any, iterator: Iterator, max_unroll: int | None = None) -> Iterator:
        """Unrolls a loop, unless it is longer than `max_unroll`."""
        most = -1 if max_unroll is None else max_unroll
        return self._keep(_ffi_api.StateUnroll(self.state_object, self._resolve_stage_id(stage), iterator, most))

    def vectorize(self, stage: Any, iterator: Iterator) -> Iterator:
        """Runs a loop by vectors."""
        return self._keep(_ffi_api.StateVectorize(self.state_object, self._resolve_stage_id(stage), iterator))

    def fuse(self, stage: Any, iters: Sequence[Iterator]) -> Iterator:
        """Makes neighbouring loops one."""
        return self._keep(_ffi_api.StateFuse(self.state_object, self._resolve_stage_id(stage), list(iters)))

    def pragma(self, stage: Any, iterator: Iterator, pragma_type: str) -> None:
        """Adds a pragma to a loop, such as "auto_unroll_max_step$64"."""
        stage_id = self._resolve_stage_id(stage)
        self.state_object = _ffi_api.StatePragma(self.state_object, stage_id, iterator, pragma_type)

    def reorder(self, stage: Any, order: Sequence[Iterator]) -> None:
        """Puts all loops of a stage into another order."""
        self.state_object = _ffi_api.StateReorder(self.state_object, self._resolve_stage_id(stage), list(order))

    def split(
        self, stage: Any, iterator: Iterator, lengths: Sequence[int | None], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """Splits a loop. `lengths` are those of all parts but the outermost, or but the innermost; None is to be sampled."""
        given = [None if length is None else int(length) for length in lengths]
        stage_id = self._resolve_stage_id(stage)
        return self._keep(_ffi_api.StateSplit(self.state_object, stage_id, iterator, given, inner_to_outer))

    def follow_split(self, stage: Any, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """Splits a loop as an earlier step did, in `n_split` + 1 parts."""
        stage_id = self._resolve_stage_id(stage)
        return self._keep(_ffi_api.StateFollowSplit(self.state_object, stage_id, iterator, int(src_step_id), n_split))

    def follow_fused_split(
        self, stage: Any, iterator: Iterator, src_step_ids: Sequence[int], level: int, factor_or_nparts: bool
    ) -> list[Iterator]:
        """Splits a loop by the lengths that several earlier steps have at a level, multiplied."""
        stage_id, sources = self._resolve_stage_id(stage), [int(step) for step in src_step_ids]
        made = _ffi_api.StateFollowFusedSplit(self.state_object, stage_id, iterator, sources, level, factor_or_nparts)
        return self._keep(made)

    def storage_align(self, stage: Any, iterator: Iterator, factor: int, offset: int) -> None:
        """Pads the memory of a stage, so that rows begin at `factor` times something plus `offset`."""
        stage_id = self._resolve_stage_id(stage)
        self.state_object = _ffi_api.StateStorageAlign(self.state_object, stage_id, iterator, factor, offset)

    # ---- stages ------------------------------------------------------------------------------------------------

    def compute_at(self, stage: Any, target_stage: Any, target_iter: Iterator) -> None:
        """Computes a stage inside a loop of another."""
        self.state_object = _ffi_api.StateComputeAt(
            self.state_object, self._resolve_stage_id(stage), self._resolve_stage_id(target_stage), target_iter
        )

    def compute_inline(self, stage: Any) -> None:
        """Puts a stage into its consumers."""
        self.state_object = _ffi_api.StateComputeInline(self.state_object, self._resolve_stage_id(stage))

    def compute_root(self, stage: Any) -> None:
        """Computes a stage on its own."""
        self.state_object = _ffi_api.StateComputeRoot(self.state_object, self._resolve_stage_id(stage))

    def cache_read(self, stage: Any, scope_name: str, reader_stages: Sequence[Any]) -> Operation:
        """Adds a stage that copies a tensor for some of its readers; gives its operation."""
        readers = [self._resolve_stage_id(reader) for reader in reader_stages]
        stage_id = self._resolve_stage_id(stage)
        return self._add(_ffi_api.StateCacheRead(self.state_object, stage_id, scope_name, readers, self.compute_dag))

    def cache_write(self, stage: Any, scope_name: str) -> Operation:
        """Adds a stage that computes into another memory; the stage itself becomes a copy. Gives the new operation."""
        stage_id = self._resolve_stage_id(stage)
        return self._add(_ffi_api.StateCacheWrite(self.state_object, stage_id, scope_name, self.compute_dag))

    def rfactor(self, stage: Any, iterator: Iterator, factor_iter_id: int) -> Operation:
        """Adds a stage with partial results for each value of a reduce loop; gives its operation."""
        stage_id = self._resolve_stage_id(stage)
        return self._add(_ffi_api.StateRfactor(self.state_object, stage_id, iterator, factor_iter_id, self.compute_dag))

    def copy(self) -> State:
        """A state of its own that says the same."""
        out = State(self.state_object, self.compute_dag)
        out.stage_id_map = dict(self.stage_id_map)
        return out

    # ---- names of stages ---------------------------------------------------------------------------------------

    def _keep(self, made: Any) -> Any:
        self.state_object, result = made
        return result if isinstance(result, Iterator) else list(result)

    def _add(self, made: Any) -> Operation:
        before = len(self.state_object.stages)
        self.state_object, added = made[0], int(made[1])
        offset = len(self.state_object.stages) - before
        self.stage_id_map = {op: i + offset if i >= added else i for op, i in self.stage_id_map.items()}
        self._update_stage_id_map()
        return self.stages[added].op

    def _resolve_stage_id(self, stage: Any) -> int:
        if isinstance(stage, Operation):
            return self.stage_id_map[stage]
        if isinstance(stage, Tensor):
            return self.stage_id_map[stage.op]
        if isinstance(stage, int):
            return stage
        raise ValueError("Invalid stage: " + str(stage) + " . Expect to be a int, Operation or Tensor")

    def _update_stage_id_map(self) -> None:
        for i, stage in enumerate(self.stages):
            self.stage_id_map[stage.op] = i

    def __getitem__(self, key: Any) -> Stage:
        if isinstance(key, (Operation, Tensor)):
            return self.stages[self._resolve_stage_id(key)]
        raise ValueError(f"Invalid item: {key} . Expect to be a Operation or Tensor")

    def __str__(self) -> str:
        return str(self.state_object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and bool(_ffi_api.StateEqual(self.state_object, other.state_object))

    __hash__ = None  # type: ignore[assignment]
