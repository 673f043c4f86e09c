"""tir.Schedule: one method per primitive; the rewriting is the core's."""

from __future__ import annotations

from typing import Any, Callable, Union

from ..._ffi import TVMError, register_error, register_object
from ...ir import GlobalVar, IRModule, PrimExpr
from ...runtime import Object
from ..buffer import Buffer
from ..expr import FloatImm, IntImm
from ..function import IndexMap, PrimFunc
from ..stmt import Block, For
from . import _ffi_api
from .block_scope import StmtSRef
from .state import ScheduleState, _parse_debug_mask, _parse_mod
from .trace import Trace

_RENDER_LEVELS = ("detail", "fast", "none")


def _checked_seed(seed: int) -> int:
    if not isinstance(seed, int):
        raise TypeError(f"a seed is an int, not a {type(seed).__name__}")
    if not 1 <= seed <= 2**31 - 1:
        raise ValueError(f"a seed lies in [1, 2**31 - 1], {seed} does not")
    return seed


@register_error
class ScheduleError(TVMError):
    """A primitive that was rejected: what it needs does not hold, or could not be shown."""


@register_object("tir.BlockRV")
class BlockRV(Object):
    """A block of the program, whatever it is rewritten to."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BlockRV)


@register_object("tir.LoopRV")
class LoopRV(Object):
    """A loop of the program."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.LoopRV)


#: A buffer that a block touches: ("read", 0), ("write", 0), its name, or itself.
BufferSpec = Union[tuple[str, int], str, Buffer]

#: A sampled integer; any expression over such variables.
ExprRV = PrimExpr


@register_object("tir.Schedule")
class Schedule(Object):
    """A module of blocks being rewritten, one primitive at a time."""

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
    ):
        if error_render_level not in _RENDER_LEVELS:
            raise ValueError(f'error_render_level is "detail", "fast" or "none", not "{error_render_level}"')
        level = _RENDER_LEVELS.index(error_render_level)
        seed = -1 if seed is None else _checked_seed(seed)
        mask = _parse_debug_mask(debug_mask)
        self.__init_handle_by_constructor__(_ffi_api.Schedule, _parse_mod(mod), seed, mask, level)

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        return _ffi_api.ScheduleGetMod(self)

    @property
    def state(self) -> ScheduleState:
        """The program and its dependencies, to look at; it sees what later primitives do."""
        return _ffi_api.ScheduleGetState(self)

    @property
    def trace(self) -> Trace:
        """What was done so far."""
        return _ffi_api.ScheduleGetTrace(self)

    def work_on(self, func_name: str) -> None:
        """Makes `func_name` the function in which get_block looks."""
        _ffi_api.ScheduleWorkOn(self, func_name)

    def copy(self) -> Schedule:
        """A schedule of its own with the same program; random variables are valid in both."""
        return _ffi_api.ScheduleCopy(self)

    def get(self, rand_var_or_sref: Any) -> Any:
        """The block, loop or value that a random variable stands for now."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        result = _ffi_api.ScheduleGet(self, rand_var_or_sref)
        return result.value if isinstance(result, IntImm) else result

    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | Block | For) -> StmtSRef | None:
        """The reference to a block or loop, by its random variable or as it stands in the module."""
        return _ffi_api.ScheduleGetSRef(self, rand_var_or_stmt)

    def seed(self, seed: int) -> None:
        """Starts the random choices from a seed."""
        _ffi_api.ScheduleSeed(self, _checked_seed(seed))

    def fork_seed(self) -> int:
        """A seed for another schedule, drawn from the random choices of this one."""
        return _ffi_api.ScheduleForkSeed(self)

    def remove_rv(self, rand_var: Any) -> None:
        """Forgets a random variable."""
        _ffi_api.ScheduleRemoveRV(self, rand_var)

    def show(self, rand_var: Any = None) -> str | None:
        """The text of what a random variable stands for; without one, prints the module."""
        if rand_var is not None:
            return str(self.get(rand_var))
        self.mod.show()
        return None

    def _run(self, kind: str, inputs: list, attrs: list | None = None, decision: Any = None) -> list:
        return list(_ffi_api.ScheduleRun(self, kind, inputs, attrs or [], decision))

    # ---- random choices ----

    def sample_categorical(self, candidates: list[int], probs: list[float], decision: int | None = None) -> ExprRV:
        """One of the candidates; the decision is its index."""
        return self._run("SampleCategorical", [], [candidates, [float(p) for p in probs]], decision)[0]

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: list[int] | None = None
    ) -> list[ExprRV]:
        """Factors of a loop, the last of them not larger than `max_innermost_factor`."""
        return self._run("SamplePerfectTile", [loop], [n, max_innermost_factor], decision)

    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """A loop of the consumers to compute a block at; or a mark that lets compute_at inline or leave it."""
        return self._run("SampleComputeLocation", [self._block(block)], [], decision)[0]

    def enter_postproc(self) -> None:
        """Marks in the trace where post-processing begins."""
        self._run("EnterPostproc", [])

    # ---- blocks and loops ----

    def get_block(self, name: str, func_name: str | GlobalVar | None = None) -> BlockRV:
        """The block of that name."""
        if isinstance(func_name, GlobalVar):
            func_name = func_name.name_hint
        return self._run("GetBlock", [], [name, func_name or _ffi_api.ScheduleFunction(self)])[0]

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block, outermost first."""
        return self._run("GetLoops", [self._block(block)])

    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly inside."""
        return self._run("GetChildBlocks", [block_or_loop])

    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks that write what this one reads."""
        return self._run("GetProducers", [self._block(block)])

    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks that read what this one writes."""
        return self._run("GetConsumers", [self._block(block)])

    def _block(self, block: BlockRV | str) -> BlockRV:
        return self.get_block(block) if isinstance(block, str) else block

    def _block_or_loop(self, block_or_loop: BlockRV | LoopRV | str) -> BlockRV | LoopRV:
        return self.get_block(block_or_loop) if isinstance(block_or_loop, str) else block_or_loop

    # ---- loops ----

    def split(self, loop: LoopRV, factors: list[int | ExprRV | None], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """Divides a loop into nested ones; one factor may be None."""
        return self._run("Split", [loop, *factors], [int(preserve_unit_iters)])

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Makes one loop of nested ones."""
        return self._run("Fuse", list(loops), [int(preserve_unit_iters)])[0]

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Puts the loops named in this order; loops between them stay."""
        self._run("Reorder", list(ordered_loops))

    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """A loop of one iteration around a block or loop."""
        return self._run("AddUnitLoop", [block_or_loop])[0]

    def parallel(self, loop: LoopRV) -> None:
        """Runs the iterations on several cores."""
        self._run("Parallel", [loop])

    def vectorize(self, loop: LoopRV) -> None:
        """Runs the iterations as lanes of vectors."""
        self._run("Vectorize", [loop])

    def unroll(self, loop: LoopRV) -> None:
        """Writes the iterations out."""
        self._run("Unroll", [loop])

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Runs each iteration on the thread of that index."""
        self._run("Bind", [loop], [thread_axis])

    # ---- notes and storage ----

    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Notes a value under a key; a value already there is replaced."""
        self._run("Annotate", [block_or_loop, ann_val], [ann_key])

    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Takes a note away."""
        self._run("Unannotate", [block_or_loop], [ann_key])

    def storage_align(self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Lets rows of a buffer begin at multiples of `factor`, plus `offset`."""
        self._run("StorageAlign", [self._block(block)], [buffer_index, axis, factor, offset])

    def set_scope(self, block: BlockRV | str, buffer_index: int, storage_scope: str) -> None:
        """Moves a buffer that the block writes to another memory."""
        self._run("SetScope", [self._block(block)], [buffer_index, storage_scope])

    # ---- computation ----

    def compute_inline(self, block: BlockRV | str) -> None:
        """Puts what a block computes into its consumers."""
        self._run("ComputeInline", [self._block(block)])

    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Puts what a block computes into its only producer."""
        self._run("ReverseComputeInline", [self._block(block)])

    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: list[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Copies a buffer, one of the block's reads by its index, name or itself, to another memory first and reads it there."""
        block = self._block(block)
        consumers = [self._block(consumer) for consumer in consumer_blocks or []]
        index = self._index_of(block, read_buffer_index, 0)
        return self._run("CacheRead", [block, consumers], [index, storage_scope])[0]

    def cache_write(self, block: BlockRV | str, write_buffer_index: int | str | Buffer, storage_scope: str) -> BlockRV:
        """Writes to another memory first and copies the result to its buffer, one of the block's writes."""
        block = self._block(block)
        return self._run("CacheWrite", [block], [self._index_of(block, write_buffer_index, 1), storage_scope])[0]

    def compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Computes what an iteration of `loop` needs of the block inside it."""
        self._run("ComputeAt", [self._block(block), loop], [int(preserve_unit_loops), index])

    def reverse_compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Uses what an iteration of `loop` has produced inside it."""
        self._run("ReverseComputeAt", [self._block(block), loop], [int(preserve_unit_loops), index])

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Gives the init of a reduction a block of its own, just outside `loop`."""
        return self._run("DecomposeReduction", [self._block(block), loop])[0]

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Lets each iteration of a reduction's loop accumulate on its own, and sums these up in a second block."""
        return self._run("RFactor", [loop], [factor_axis])[0]

    # ---- layouts and padding ----

    def reindex(self, block: BlockRV | str, buffer: BufferSpec) -> BlockRV:
        """Copies a buffer so that the block touches it at its own axes; returns the block of the copy."""
        block = self._block(block)
        kind, index, _ = self._buffer(block, buffer)
        return self._run("ReIndex", [block], [index, kind])[0]

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: BufferSpec,
        index_map: IndexMap | Callable[..., Any],
        pad_value: int | float | PrimExpr | IndexMap | Callable[..., Any] | None = None,
    ) -> None:
        """Moves element `i` of a buffer to `index_map(i)`, wherever it is used.

        ``IndexMap.AXIS_SEPARATOR`` between the indices of a function begins a physical dimension. Elements that no
        index is mapped to hold `pad_value`, a value or a function of the new indices, which must be given then.
        """
        block = self._block(block)
        kind, index, spec = self._buffer(block, buffer)
        separators: list[int] = []
        if not isinstance(index_map, IndexMap):
            index_map, separators = IndexMap.from_func_with_separators(index_map, ndim=len(spec.shape))
        pad = _pad_value(pad_value, spec.dtype, len(index_map.final_indices))
        self._run("TransformLayout", [block], [index, kind, index_map, pad])
        if separators:
            self.set_axis_separator(block, ("write" if kind else "read", index), separators)

    def transform_block_layout(self, block: BlockRV | str, index_map: IndexMap | Callable[..., Any]) -> None:
        """Runs a block over `index_map` of its axes; the map is one to one."""
        block = self._block(block)
        if not isinstance(index_map, IndexMap):
            index_map = IndexMap.from_func(index_map, ndim=len(self.get(block).iter_vars))
        self._run("TransformBlockLayout", [block], [index_map])

    def set_axis_separator(
        self, block: BlockRV | str, buffer: BufferSpec, axis_separators: list[int] | None = None
    ) -> None:
        """Lets physical dimensions of a buffer begin at these axes."""
        block = self._block(block)
        kind, index, _ = self._buffer(block, buffer)
        self._run("SetAxisSeparator", [block], [index, kind, axis_separators or []])

    def pad_einsum(self, block: BlockRV | str, padding: list[int]) -> None:
        """Makes the axes of a sum of products longer by `padding`; operands are 0 there."""
        self._run("PadEinsum", [self._block(block)], [padding])

    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Writes the constant around padded data in a block of its own, just outside `loop`."""
        return self._run("DecomposePadding", [self._block(block), loop])[0]

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """True when decompose_padding would not reject."""
        return bool(_ffi_api.ScheduleCanDecomposePadding(self, self._block(block), loop))

    def _index_of(self, block: BlockRV, spec: int | str | Buffer, kind: int) -> int:
        """The index of a buffer among the block's reads (0) or writes (1); an index is one already."""
        if not isinstance(spec, (str, Buffer)):
            return spec
        node = self.get(block)
        regions = list(node.writes if kind else node.reads)
        for index, region in enumerate(regions):
            if region.buffer.name == spec if isinstance(spec, str) else region.buffer.same_as(spec):
                return index
        names = ", ".join(region.buffer.name for region in regions)
        verb = "writes" if kind else "reads"
        name = spec if isinstance(spec, str) else spec.name
        raise ValueError(f'block "{node.name_hint}" {verb} no buffer "{name}"; it {verb} {names}')

    def _buffer(self, block: BlockRV, spec: BufferSpec) -> tuple[int, int, Buffer]:
        """A buffer of the block: 0 when it is one of its reads, 1 for a write; its index there; itself."""
        node = self.get(block)
        regions = [list(node.reads), list(node.writes)]
        if isinstance(spec, tuple):
            if len(spec) != 2 or spec[0] not in ("read", "write") or not isinstance(spec[1], int):
                raise ValueError(f'a buffer is ("read" or "write", index), not {spec!r}')
            kind, index = int(spec[0] == "write"), spec[1]
            if not 0 <= index < len(regions[kind]):
                raise ScheduleError(
                    f'block "{node.name_hint}" has {len(regions[kind])} {spec[0]} regions, '
                    f"so there is none of index {index}"
                )
            return kind, index, regions[kind][index].buffer
        found = [
            (kind, index, region.buffer)
            for kind in (1, 0)
            for index, region in enumerate(regions[kind])
            if (region.buffer.name == spec if isinstance(spec, str) else region.buffer.same_as(spec))
        ]
        buffers = {id(buffer.data) for _, _, buffer in found}
        if len(buffers) > 1:
            raise ValueError(f'several buffers of block "{node.name_hint}" are named "{spec}"')
        if not found:
            names = [region.buffer.name for region in regions[0] + regions[1]]
            raise ValueError(f'block "{node.name_hint}" has no buffer "{spec}"; it has {", ".join(names)}')
        return found[0]

    # ---- blocks of blocks and instructions ----

    def blockize(self, loop: LoopRV) -> BlockRV:
        """Makes one block of all that runs inside `loop`; its axes are the digits that loops outside count."""
        return self._run("Blockize", [loop])[0]

    def tensorize(self, block_or_loop: BlockRV | LoopRV | str, tensor_intrin: str) -> None:
        """Does what runs inside a loop, or in a block, by the tensor intrinsic of that name."""
        self._run("Tensorize", [self._block_or_loop(block_or_loop)], [tensor_intrin])


def _pad_value(value: Any, dtype: str, ndim: int) -> IndexMap | None:
    """What padding holds, as a function of the new indices."""
    if value is None or isinstance(value, IndexMap):
        return value
    if callable(value):

        def as_list(*indices: PrimExpr) -> Any:
            found = value(*indices)
            return found if isinstance(found, (list, tuple)) else [found]

        return IndexMap.from_func(as_list, ndim=ndim)
    if isinstance(value, (int, float)):
        is_whole = isinstance(value, int) or ("float" not in dtype and value == int(value))
        value = (
            FloatImm(dtype, value)
            if "float" in dtype
            else IntImm(dtype, int(value))
            if is_whole
            else FloatImm("float32", value)
        )
    return IndexMap.from_func(lambda *indices: [value], ndim=ndim)
