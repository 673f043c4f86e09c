"""Statements: the loop programs that lowering makes and code generation reads."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .._ffi.registry import register_object
from ..ir import Range, Span
from ..runtime.object import Object
from . import _ffi_api
from .buffer import Buffer
from .expr import IterVar, Var

__all__ = [
    "Allocate",
    "AllocateConst",
    "AssertStmt",
    "AttrStmt",
    "Block",
    "BlockRealize",
    "BufferRealize",
    "BufferRegion",
    "BufferStore",
    "DeclBuffer",
    "Evaluate",
    "For",
    "ForKind",
    "IfThenElse",
    "LetStmt",
    "MatchBufferRegion",
    "Prefetch",
    "ProducerRealize",
    "ProducerStore",
    "SeqStmt",
    "Stmt",
    "Store",
    "While",
    "stmt_list",
    "stmt_seq",
]


@register_object("tir.Stmt")
class Stmt(Object):
    """The base of all statements."""


@register_object("tir.LetStmt")
class LetStmt(Stmt):
    """`body` with `var` standing for `value`."""

    def __init__(self, var: Var, value: Any, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.LetStmt, var, value, body, span)


@register_object("tir.AssertStmt")
class AssertStmt(Stmt):
    """Stops the program with `message` where `condition` is false."""

    def __init__(self, condition: Any, message: Any, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.AssertStmt, condition, message, body, span)


class ForKind(IntEnum):
    """How the iterations of a loop are run."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@register_object("tir.For")
class For(Stmt):
    """Runs `body` for each `loop_var` in [min, min + extent)."""

    def __init__(
        self,
        loop_var: Var,
        min_val: Any,
        extent: Any,
        kind: int,
        body: Stmt,
        thread_binding: IterVar | None = None,
        annotations: Any = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.For, loop_var, min_val, extent, int(kind), body, thread_binding, annotations, span
        )


@register_object("tir.While")
class While(Stmt):
    """Runs `body` as long as `condition` holds."""

    def __init__(self, condition: Any, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.While, condition, body, span)


@register_object("tir.Store")
class Store(Stmt):
    """A store to a bare pointer; programs use BufferStore."""

    def __init__(self, buffer_var: Var, value: Any, index: Any, predicate: Any = None, span: Span | None = None):
        raise NotImplementedError("tir.Store is no longer part of programs: declare a buffer and use tir.BufferStore")


@register_object("tir.BufferStore")
class BufferStore(Stmt):
    """Puts `value` into an element of a buffer, or a vector of them."""

    def __init__(self, buffer: Buffer, value: Any, indices: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.BufferStore, buffer, value, indices, span)


@register_object("tir.BufferRealize")
class BufferRealize(Stmt):
    """Memory for the rectangle `bounds` of `buffer` exists inside `body`."""

    def __init__(self, buffer: Buffer, bounds: Any, condition: Any, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.BufferRealize, buffer, bounds, condition, body, span)


@register_object("tir.ProducerStore")
class ProducerStore(Stmt):
    """Gives an element of a tensor its value."""

    def __init__(self, producer: Any, value: Any, indices: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.ProducerStore, producer, value, indices, span)


@register_object("tir.ProducerRealize")
class ProducerRealize(Stmt):
    """The rectangle `bounds` of a tensor exists inside `body`."""

    def __init__(
        self,
        producer: Any,
        bounds: Any,
        condition: Any,
        body: Stmt,
        storage_scope: str = "",
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.ProducerRealize, producer, bounds, condition, body, storage_scope, span
        )


@register_object("tir.Allocate")
class Allocate(Stmt):
    """Memory for `extents` elements, addressed by `buffer_var`, inside `body`."""

    def __init__(
        self,
        buffer_var: Var,
        dtype: str,
        extents: Any,
        condition: Any,
        body: Stmt,
        annotations: Any = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.Allocate, buffer_var, dtype, extents, condition, body, annotations, span
        )


@register_object("tir.AllocateConst")
class AllocateConst(Stmt):
    """Constant data inside the program: an NDArray, or its index in the module's list of constants."""

    def __init__(
        self,
        buffer_var: Var,
        dtype: str,
        extents: Any,
        data_or_idx: Any,
        body: Stmt,
        annotations: Any = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.AllocateConst, buffer_var, dtype, extents, data_or_idx, body, annotations, span
        )


@register_object("tir.DeclBuffer")
class DeclBuffer(Stmt):
    """Declares `buffer`, a view of memory that exists already, for use in `body`."""

    def __init__(self, buffer: Buffer, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.DeclBuffer, buffer, body, span)


@register_object("tir.AttrStmt")
class AttrStmt(Stmt):
    """Says something about `node` that holds inside `body`."""

    def __init__(self, node: Any, attr_key: str, value: Any, body: Stmt, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.AttrStmt, node, attr_key, value, body, span)


@register_object("tir.SeqStmt")
class SeqStmt(Stmt):
    """Statements one after another; also a sequence of them."""

    def __init__(self, seq: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.SeqStmt, seq, span)

    def __getitem__(self, i: int) -> Stmt:
        return self.seq[i]

    def __len__(self) -> int:
        return len(self.seq)


@register_object("tir.IfThenElse")
class IfThenElse(Stmt):
    """`then_case` where `condition` holds, else `else_case`, which may be None."""

    def __init__(self, condition: Any, then_case: Stmt, else_case: Stmt | None, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.IfThenElse, condition, then_case, else_case, span)


@register_object("tir.Evaluate")
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    def __init__(self, value: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Evaluate, value, span)


@register_object("tir.Prefetch")
class Prefetch(Stmt):
    """Asks for `bounds` of `buffer` to be prefetched."""

    def __init__(self, buffer: Buffer, bounds: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Prefetch, buffer, bounds, span)


@register_object("tir.BufferRegion")
class BufferRegion(Object):
    """A rectangle of a buffer."""

    buffer: Buffer
    region: list[Range]

    def __init__(self, buffer: Buffer, region: Any):
        self.__init_handle_by_constructor__(_ffi_api.BufferRegion, buffer, region)


@register_object("tir.MatchBufferRegion")
class MatchBufferRegion(Object):
    """`buffer` is a view of the rectangle `source`."""

    buffer: Buffer
    source: BufferRegion

    def __init__(self, buffer: Buffer, source: BufferRegion):
        self.__init_handle_by_constructor__(_ffi_api.MatchBufferRegion, buffer, source)


@register_object("tir.Block")
class Block(Stmt):
    """A unit of computation over its own iteration variables, with the regions it reads and writes."""

    def __init__(
        self,
        iter_vars: Any,
        reads: Any,
        writes: Any,
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Any = None,
        match_buffers: Any = None,
        annotations: Any = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.Block,
            iter_vars,
            reads,
            writes,
            name_hint,
            body,
            init,
            alloc_buffers or [],
            match_buffers or [],
            annotations or {},
            span,
        )


@register_object("tir.BlockRealize")
class BlockRealize(Stmt):
    """Runs `block` with its iteration variables bound to `iter_values`, where `predicate` holds."""

    def __init__(self, iter_values: Any, predicate: Any, block: Block, span: Span | None = None):
        from ..runtime.object_generic import const

        if isinstance(predicate, bool):
            predicate = const(predicate, "bool")
        self.__init_handle_by_constructor__(_ffi_api.BlockRealize, iter_values, predicate, block, span)


def stmt_seq(*args: Any) -> Stmt:
    """The statements (or expressions) one after another, as one statement."""
    flat: list[Stmt] = []
    for value in args:
        parts = list(value) if isinstance(value, (list, tuple)) else [value]
        flat += [part if isinstance(part, Stmt) else Evaluate(part) for part in parts]
    return flat[0] if len(flat) == 1 else SeqStmt(flat)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The parts of a sequence, nested ones too; other statements are their only part."""
    if not isinstance(stmt, SeqStmt):
        return [stmt]
    return [part for inner in stmt.seq for part in stmt_list(inner)]
