"""Schedules of tensor programs: stages, their loops, and the primitives that describe them."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import get_global_func, register_object
from ..ir import Array
from ..runtime.object import Object
from ..runtime.object_generic import convert
from ..tir import Buffer as Buffer
from ..tir import IterVar
from . import _ffi_api
from . import tensor as _tensor
from .graph import CreateAttachPath as CreateAttachPath
from .graph import CreateReadGraph as CreateReadGraph
from .graph import PostDFSOrder as PostDFSOrder
from .graph import ScanFixPointAnalysis as ScanFixPointAnalysis
from .graph import ScanGetBody as ScanGetBody


def _operation(value: Any) -> Any:
    return value.op if isinstance(value, _tensor.Tensor) else value


@register_object
class IterVarRelation(Object):
    """How axes come from other axes."""


@register_object
class Split(IterVarRelation):
    """One axis divided in two."""


@register_object
class Fuse(IterVarRelation):
    """Two axes fused into one."""


@register_object
class Rebase(IterVarRelation):
    """An axis moved to begin at 0."""


@register_object
class Singleton(IterVarRelation):
    """An axis of one iteration."""


@register_object
class IterVarAttr(Object):
    """What was said about an axis."""


def create_schedule(ops: Any) -> Schedule:
    """A schedule that computes `ops`, one operation or a list of them, with plain loops."""
    if not isinstance(ops, (list, tuple, Array)):
        ops = [ops]
    return _ffi_api.CreateSchedule([_operation(op) for op in ops])


@register_object
class Schedule(Object):
    """How a graph of tensors is computed: one Stage per operation."""

    def __getitem__(self, k: Any) -> Stage:
        k = _operation(k)
        if not isinstance(k, _tensor.Operation):
            raise ValueError("Expect schedule key to be Tensor or Operation")
        return _ffi_api.ScheduleGetItem(self, k)

    def normalize(self) -> Schedule:
        """A copy that is ready for bounds: inlining done and loops from 0."""
        return _ffi_api.ScheduleNormalize(self)

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Stage:
        """A stage that stands for all operations from `inputs` to `outputs`, to be attached as one."""
        outputs = [outputs] if isinstance(outputs, _tensor.Tensor) else outputs
        inputs = [inputs] if isinstance(inputs, _tensor.Tensor) else inputs
        return _ffi_api.ScheduleCreateGroup(self, outputs, inputs, include_inputs)

    def cache_read(self, tensor: _tensor.Tensor, scope: str, readers: Any) -> _tensor.Tensor:
        """A copy of `tensor` in `scope` that `readers` read instead of it."""
        if isinstance(readers, (_tensor.Tensor, _tensor.Operation)):
            readers = [readers]
        return _ffi_api.ScheduleCacheRead(self, tensor, scope, [_operation(reader) for reader in readers])

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Computes `tensor` in `scope`; the original becomes a copy of that.

        The cache is laid out by the loops of the stage, if it was split, fused or reordered before.
        """
        return _ffi_api.ScheduleCacheWrite(self, tensor, scope)

    def rfactor(self, tensor: _tensor.Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Partial results for each value of `axis`, a loop of the reduction, at `factor_axis` of a new tensor."""
        factored = _ffi_api.ScheduleRFactor(self, tensor, axis, factor_axis)
        return factored[0] if len(factored) == 1 else factored


@register_object
class Stage(Object):
    """How one operation is computed."""

    def split(self, parent: IterVar, factor: Any = None, nparts: Any = None) -> Any:
        """Divides a loop into (outer, inner): the inner one `factor` long, or the outer one `nparts` long."""
        if nparts is not None:
            if factor is not None:
                raise ValueError("Do not need to provide both outer and nparts")
            return tuple(_ffi_api.StageSplitByNParts(self, parent, nparts))
        if factor is None:
            raise ValueError("Either nparts or factor need to be provided")
        return tuple(_ffi_api.StageSplitByFactor(self, parent, factor))

    def fuse(self, *args: IterVar) -> IterVar:
        """Fuses neighbouring loops, outermost first, into one."""
        return _ffi_api.StageFuse(self, args)

    def set_scope(self, scope: str) -> None:
        """Says which memory the result is kept in."""
        _ffi_api.StageSetScope(self, scope)

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Runs a loop by threads."""
        _ffi_api.StageBind(self, ivar, thread_ivar)

    def env_threads(self, threads: Any) -> None:
        """Launches threads around a scan, for its parts to use."""
        threads = [threads] if isinstance(threads, IterVar) else threads
        _ffi_api.StageEnvThreads(self, threads)

    def set_store_predicate(self, predicate: Any) -> None:
        """Stores the result only where `predicate` holds."""
        _ffi_api.StageSetStorePredicate(self, predicate)

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Computes the stage inside loop `scope` of `parent`, just what is needed there."""
        _ffi_api.StageComputeAt(self, parent, scope)

    def compute_inline(self) -> None:
        """Puts the expression into every consumer."""
        _ffi_api.StageComputeInline(self)

    def compute_root(self) -> None:
        """Computes the stage outside all other loops."""
        _ffi_api.StageComputeRoot(self)

    def reorder(self, *args: IterVar) -> None:
        """Puts the loops named into this order, among the positions they have."""
        _ffi_api.StageReorder(self, args)

    def tile(self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any) -> Any:
        """Splits both loops and orders them (x outer, y outer, x inner, y inner)."""
        return tuple(_ffi_api.StageTile(self, x_parent, y_parent, x_factor, y_factor))

    def vectorize(self, var: IterVar) -> None:
        """Runs a loop by vector instructions."""
        _ffi_api.StageVectorize(self, var)

    def tensorize(self, var: IterVar, tensor_intrin: Any) -> None:
        """Replaces the loop and all inside it by a tensor intrinsic."""
        _ffi_api.StageTensorize(self, var, tensor_intrin)

    def unroll(self, var: IterVar) -> None:
        """Writes the iterations of a loop out."""
        _ffi_api.StageUnroll(self, var)

    def parallel(self, var: IterVar) -> None:
        """Runs a loop on all cores."""
        _ffi_api.StageParallel(self, var)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Says `pragma_type` about a loop, for the passes of lowering to read."""
        _ffi_api.StagePragma(self, var, pragma_type, _pragma_value(pragma_value))

    def prefetch(self, tensor: _tensor.Tensor, var: IterVar, offset: Any) -> None:
        """Brings what `tensor` gives `offset` iterations of `var` later near already."""
        _ffi_api.StagePrefetch(self, tensor, var, offset)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Makes the stride of `axis` k with ``k % factor == offset``."""
        _ffi_api.StageStorageAlign(self, axis, factor, offset)

    def double_buffer(self) -> None:
        """Keeps two copies, so that one is filled while the other is read."""
        _ffi_api.StageDoubleBuffer(self)

    def rolling_buffer(self) -> None:
        """Keeps rows that the next iteration needs again."""
        _ffi_api.StageRollingBuffer(self)

    def transform_layout(self, mapping_function: Any) -> Any:
        """Lays the result out by `mapping_function` of its axes; returns the new axes."""
        from ..tir import IndexMap

        ndim = len(self.op.output(0).shape)
        if self.layout_transforms:
            ndim = len(self.layout_transforms[-1].final_indices)
        index_map, separators = IndexMap.from_func_with_separators(mapping_function, ndim)
        return _ffi_api.StageTransformLayout(self, index_map, separators)


def _pragma_value(value: Any) -> Any:
    if isinstance(value, str):
        from ..tir import StringImm

        return StringImm(value)
    return convert(int(value) if isinstance(value, bool) else value) if value is not None else None


@register_object
class SpecializedCondition(Object):
    """Conditions that may be assumed inside ``with``."""

    def __init__(self, conditions: Any):
        if not isinstance(conditions, (list, tuple, Array)):
            conditions = [conditions]
        self.__init_handle_by_constructor__(_ffi_api.CreateSpecializedCondition, conditions)

    @staticmethod
    def current() -> Any:
        """The conditions in force, or None."""
        return _ffi_api.GetCurrentSpecialization()

    def __enter__(self) -> SpecializedCondition:
        _ffi_api.EnterSpecializationScope(self)
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        _ffi_api.ExitSpecializationScope(self)


#: Separates the dimensions of a layout into physical axes; see transform_layout.
AXIS_SEPARATOR = "axis_separator"


def InferBound(sch: Schedule) -> Any:
    """Ranges of all axes of a normalised schedule."""
    return get_global_func("schedule.InferBound")(sch)


def ScheduleOps(sch: Schedule, bounds: Any, debug_keep_trivial_loop: bool = False) -> Any:
    """The loop nest of a normalised schedule."""
    return get_global_func("schedule.ScheduleOps")(sch, bounds, debug_keep_trivial_loop)


def SchedulePostProcToPrimFunc(args: Any, stmt: Any, binds: Any = None) -> Any:
    """The function of a loop nest: its tensors as buffers, `args` as parameters."""
    return get_global_func("schedule.SchedulePostProcToPrimFunc")(args, stmt, binds)


def VerifyCompactBuffer(stmt: Any) -> bool:
    """True when the nest needs its argument buffers without strides."""
    return bool(get_global_func("schedule.VerifyCompactBuffer")(stmt))


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inlines stages that compute each element from the elements at the same index."""
    get_global_func("schedule.AutoInlineElemWise")(sch)


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inlines elementwise stages and those that repeat elements along some axes."""
    get_global_func("schedule.AutoInlineBroadcast")(sch)


def AutoInlineInjective(sch: Schedule) -> None:
    """Inlines all stages that do not reduce."""
    get_global_func("schedule.AutoInlineInjective")(sch)
