"""What makes functions, loops, blocks and statements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import ir, tir
from ....runtime import ndarray as nd
from ..base import IRBuilder
from . import frame as _frame

__all__ = [
    "Assert",
    "Else",
    "If",
    "Then",
    "While",
    "alloc_buffer",
    "allocate",
    "allocate_const",
    "arg",
    "attr",
    "axis",
    "block",
    "block_attr",
    "boolean",
    "buffer_decl",
    "buffer_store",
    "decl_buffer",
    "env_thread",
    "evaluate",
    "float8",
    "float16",
    "float32",
    "float64",
    "func_attr",
    "func_name",
    "func_ret",
    "grid",
    "handle",
    "init",
    "int8",
    "int16",
    "int32",
    "int32x4",
    "int32x8",
    "int32x16",
    "int64",
    "launch_thread",
    "let",
    "match_buffer",
    "parallel",
    "prefetch",
    "preflattened_buffer",
    "prim_func",
    "reads",
    "realize",
    "serial",
    "thread_binding",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unroll",
    "var",
    "vectorized",
    "void",
    "where",
    "writes",
]


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, ir.Array)) else [value]


def buffer_decl(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> tir.Buffer:
    """A buffer."""
    return tir.decl_buffer(
        _list(shape),
        dtype,
        "",
        data,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        "" if buffer_type == "default" else buffer_type,
        axis_separators,
    )


# ---- functions


def prim_func() -> _frame.PrimFuncFrame:
    """A function."""
    return _frame.PrimFuncFrame()


def _function(what: str) -> _frame.PrimFuncFrame:
    return IRBuilder.current().find_around(_frame.PrimFuncFrame, what)


def arg(name: str, obj: Any) -> Any:
    """A parameter of that name: a variable, or a buffer, which is passed by its handle."""
    function = _function("T.arg")
    obj = IRBuilder.name(name, obj)
    if isinstance(obj, tir.Buffer):
        function.buffer_params.append(tir.Var(f"{name}_handle", "handle"))
        function.buffers.append(obj)
    function.args.append(obj)
    return obj


def func_name(name: str) -> None:
    """The name of the function."""
    function = _function("T.func_name")
    if function.name is not None:
        raise ValueError(f"the function has the name {function.name} already")
    function.name = name


def func_attr(attrs: dict[str, Any]) -> None:
    """Attributes of the function."""
    _function("T.func_attr").attrs.update(attrs)


def func_ret(ret_type: Any) -> Any:
    """The type of its result."""
    _function("T.func_ret").ret_type = ret_type
    return ret_type


def match_buffer(
    param: Any,
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> tir.Buffer:
    """The buffer of a parameter, or of a region of another buffer inside a block."""
    out = buffer_decl(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    )
    if isinstance(param, tir.Var):
        function = _function("T.match_buffer")
        function.buffer_params.append(param)
        function.buffers.append(out)
        return out
    source = _region(param)
    IRBuilder.current().find(_frame.BlockFrame, "T.match_buffer of a region").match_buffers.append(
        tir.MatchBufferRegion(out, source)
    )
    return out


def preflattened_buffer(
    postflattened: tir.Buffer,
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> tir.Buffer:
    """The shape that the buffer of a parameter had before it was flattened."""
    function = _function("T.preflattened_buffer")
    out = buffer_decl(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    )
    function.preflattened[postflattened] = out
    return out


# ---- blocks


def block(name: str = "", no_realize: bool = False) -> _frame.BlockFrame:
    """A block."""
    return _frame.BlockFrame(name, no_realize)


def init() -> _frame.BlockInitFrame:
    """What the block around does before its first step."""
    return _frame.BlockInitFrame()


def _block(what: str) -> _frame.BlockFrame:
    return IRBuilder.current().find(_frame.BlockFrame, what)


def where(predicate: Any) -> None:
    """When the block runs."""
    around = _block("T.where")
    if around.predicate is not None:
        raise ValueError("the block has a predicate already")
    around.predicate = tir.IntImm("bool", int(predicate)) if isinstance(predicate, bool) else predicate


def _region(value: Any) -> tir.BufferRegion:
    """A region from one, from a buffer, or from the load of an element."""
    if isinstance(value, tir.BufferRegion):
        return value
    if isinstance(value, tir.Buffer):
        return tir.BufferRegion(value, [ir.Range.from_min_extent(0, extent) for extent in value.shape])
    if isinstance(value, tir.BufferLoad):
        return tir.BufferRegion(value.buffer, [ir.Range.from_min_extent(index, 1) for index in value.indices])
    raise TypeError(f"expected a region of a buffer, such as A[0:16, j], got {type(value).__name__}")


def reads(*buffer_slices: Any) -> None:
    """What the block reads."""
    given = (
        buffer_slices[0] if len(buffer_slices) == 1 and isinstance(buffer_slices[0], (list, tuple)) else buffer_slices
    )
    _block("T.reads").reads = [_region(each) for each in given]


def writes(*buffer_slices: Any) -> None:
    """What the block writes."""
    given = (
        buffer_slices[0] if len(buffer_slices) == 1 and isinstance(buffer_slices[0], (list, tuple)) else buffer_slices
    )
    _block("T.writes").writes = [_region(each) for each in given]


def block_attr(attrs: dict[str, Any]) -> None:
    """Annotations of the block."""
    _block("T.block_attr").annotations.update(attrs)


def alloc_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> tir.Buffer:
    """A buffer that the block around allocates, or the function where there is none."""
    out = buffer_decl(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    )
    frames = IRBuilder.current().frames
    if frames and isinstance(frames[-1], _frame.PrimFuncFrame):
        frames[-1].root_buffers.append(out)
    else:
        _block("T.alloc_buffer").alloc_buffers.append(out)
    return out


def _domain(dom: Any) -> ir.Range:
    if isinstance(dom, ir.Range):
        return dom
    if isinstance(dom, (tuple, list)):
        begin, end = dom
        return ir.Range(begin, end)
    return ir.Range.from_min_extent(0, dom)


def _axis(dom: Any, binding: Any, dtype: str, kind: int) -> tir.Var:
    around = _block("T.axis")
    out = tir.Var("", dtype)
    around.iter_vars.append(tir.IterVar(_domain(dom), out, kind))
    around.iter_values.append(binding)
    return out


class axis:
    """Axes of the block around: their domain, and their value in each step."""

    @staticmethod
    def spatial(dom: Any, binding: Any, dtype: str = "int32") -> tir.Var:
        """An axis of independent steps."""
        return _axis(dom, binding, dtype, tir.IterVar.DataPar)

    @staticmethod
    def reduce(dom: Any, binding: Any, dtype: str = "int32") -> tir.Var:
        """An axis along which is reduced."""
        return _axis(dom, binding, dtype, tir.IterVar.CommReduce)

    @staticmethod
    def scan(dom: Any, binding: Any, dtype: str = "int32") -> tir.Var:
        """An axis of steps in order."""
        return _axis(dom, binding, dtype, tir.IterVar.Ordered)

    @staticmethod
    def opaque(dom: Any, binding: Any, dtype: str = "int32") -> tir.Var:
        """An axis of which nothing is known."""
        return _axis(dom, binding, dtype, tir.IterVar.DimInfo)

    @staticmethod
    def remap(kinds: str, bindings: Any, dtype: str = "int32") -> Any:
        """An axis for each loop of `bindings`, with its domain; S is spatial, R reduce."""
        loops: dict[Any, ir.Range] = {}
        for around in IRBuilder.current().frames:
            if isinstance(around, _frame.ForFrame):
                loops.update(zip(around.vars, around.domains))
        made = [
            (axis.spatial if kind == "S" else axis.reduce)(loops[binding], binding, dtype)
            for kind, binding in zip(kinds, bindings)
        ]
        return made[0] if len(made) == 1 else made

    S = spatial
    R = reduce


# ---- loops


def _loop(start: Any, stop: Any, kind: int, annotations: Any, thread: str | None = None) -> _frame.ForFrame:
    begin, end = (0, start) if stop is None else (start, stop)
    dtype = next((str(x.dtype) for x in (begin, end) if hasattr(x, "dtype")), "int32")
    extent = end - begin if stop is not None else end
    loop = tir.Var("", dtype)

    def make(loop_vars: list[Any], body: tir.Stmt) -> tir.Stmt:
        binding = None
        if thread is not None:
            tag = tir.Var(thread, dtype)
            binding = tir.IterVar(None, tag, tir.IterVar.ThreadIndex, thread)
        return tir.For(loop_vars[0], begin, extent, kind, body, binding, annotations)

    return _frame.ForFrame([loop], [ir.Range.from_min_extent(begin, extent)], make)


def serial(start: Any, stop: Any = None, *, annotations: Any = None) -> _frame.ForFrame:
    """A loop in order."""
    return _loop(start, stop, tir.ForKind.SERIAL, annotations)


def parallel(start: Any, stop: Any = None, *, annotations: Any = None) -> _frame.ForFrame:
    """A loop by threads of the CPU."""
    return _loop(start, stop, tir.ForKind.PARALLEL, annotations)


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> _frame.ForFrame:
    """A loop by lanes of a vector."""
    return _loop(start, stop, tir.ForKind.VECTORIZED, annotations)


def unroll(start: Any, stop: Any = None, *, annotations: Any = None) -> _frame.ForFrame:
    """A loop as copies of its body."""
    return _loop(start, stop, tir.ForKind.UNROLLED, annotations)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None
) -> _frame.ForFrame:
    """A loop by threads of a GPU."""
    if thread is None:
        if not isinstance(stop, str):
            raise ValueError("thread_binding needs the name of its threads, such as threadIdx.x")
        stop, thread = None, stop
    return _loop(start, stop, tir.ForKind.THREAD_BINDING, annotations, thread)


def grid(*extents: Any) -> _frame.ForFrame:
    """Loops in order, one for each extent."""
    loops = [tir.Var("", str(extent.dtype) if hasattr(extent, "dtype") else "int32") for extent in extents]

    def make(loop_vars: list[Any], body: tir.Stmt) -> tir.Stmt:
        for loop, extent in reversed(list(zip(loop_vars, extents))):
            body = tir.For(loop, 0, extent, tir.ForKind.SERIAL, body)
        return body

    return _frame.ForFrame(loops, [ir.Range.from_min_extent(0, extent) for extent in extents], make)


def While(condition: Any) -> _frame.WhileFrame:
    """A loop while a condition holds."""
    return _frame.WhileFrame(lambda body: tir.While(condition, body))


# ---- statements around others


def Assert(condition: Any, message: str) -> _frame.AssertFrame:
    """A condition that is checked, and then holds inside."""
    return _frame.AssertFrame(lambda body: tir.AssertStmt(condition, message, body))


def let(v: tir.Var, value: Any, body: Any = None) -> Any:
    """A variable that has a value inside; with a body, the expression."""
    if body is not None:
        return tir.Let(v, value, body)
    return _frame.LetFrame(lambda inside: tir.LetStmt(v, value, inside), v)


def attr(node: Any, attr_key: str, value: Any) -> _frame.AttrFrame:
    """An attribute of what is inside."""
    value = tir.StringImm(value) if isinstance(value, str) else value
    return _frame.AttrFrame(lambda body: tir.AttrStmt(node, attr_key, value, body))


def realize(buffer_slice: Any, storage_scope: str, condition: Any = True) -> _frame.RealizeFrame:
    """A region of a buffer that is there inside."""
    region = _region(buffer_slice)

    def wrap(body: tir.Stmt) -> tir.Stmt:
        made = tir.BufferRealize(region.buffer, region.region, condition, body)
        return tir.AttrStmt(region.buffer, "realize_scope", tir.StringImm(storage_scope), made)

    return _frame.RealizeFrame(wrap)


def allocate(
    extents: Any, dtype: str, scope: str = "", condition: Any = None, annotations: Any = None
) -> _frame.AllocateFrame:
    """Memory that is there inside; entering gives its pointer."""
    pointer = tir.Var("", ir.PointerType(ir.PrimType(dtype), scope or "global"))
    holds = True if condition is None else condition
    return _frame.AllocateFrame(
        lambda body: tir.Allocate(pointer, dtype, _list(extents), holds, body, annotations), pointer
    )


def allocate_const(data: Any, dtype: str, extents: Any, annotations: Any = None) -> _frame.AllocateConstFrame:
    """Constants that are there inside; entering gives their pointer."""
    pointer = tir.Var("", ir.PointerType(ir.PrimType(dtype)))
    values = nd.array(np.asarray(data, dtype).reshape([int(extent) for extent in _list(extents)]))
    return _frame.AllocateConstFrame(
        lambda body: tir.AllocateConst(pointer, dtype, _list(extents), values, body, annotations), pointer
    )


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> _frame.DeclBufferFrame:
    """A buffer that is known inside, allocated where `data` does not say its memory; entering gives it."""
    out = buffer_decl(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    )

    def wrap(body: tir.Stmt) -> tir.Stmt:
        known = tir.DeclBuffer(out, body)
        return known if data is not None else tir.Allocate(out.data, out.dtype, out.shape, True, known)

    return _frame.DeclBufferFrame(wrap, out)


def env_thread(thread_tag: str) -> tir.IterVar:
    """Threads of a GPU, to be launched."""
    return tir.IterVar(None, tir.Var("", "int32"), tir.IterVar.ThreadIndex, thread_tag)


def launch_thread(iter_var: tir.IterVar, extent: Any) -> _frame.LaunchThreadFrame:
    """Threads that run what is inside."""
    axis_of = tir.IterVar(ir.Range.from_min_extent(0, extent), iter_var.var, iter_var.iter_type, iter_var.thread_tag)
    return _frame.LaunchThreadFrame(lambda body: tir.AttrStmt(axis_of, "thread_extent", extent, body), iter_var.var)


def If(condition: Any) -> _frame.IfFrame:
    """A choice."""
    return _frame.IfFrame(condition)


def Then() -> _frame.ThenFrame:
    """What is done where the condition of the choice around holds."""
    return _frame.ThenFrame()


def Else() -> _frame.ElseFrame:
    """What is done where it does not."""
    return _frame.ElseFrame()


# ---- statements


def buffer_store(buffer: tir.Buffer, value: Any, indices: Any) -> None:
    """buffer[indices] = value."""
    stored = value if isinstance(value, ir.PrimExpr) else tir.const(value, buffer.dtype)
    IRBuilder.current().add(tir.BufferStore(buffer, stored, _list(indices)))


def prefetch(buffer: tir.Buffer, indices: Any) -> None:
    """Brings a region into the cache."""
    IRBuilder.current().add(tir.Prefetch(buffer, [_domain(each) for each in indices]))


def evaluate(value: Any) -> None:
    """An expression for its effect."""
    IRBuilder.current().add(tir.Evaluate(tir.StringImm(value) if isinstance(value, str) else value))


# ---- variables and numbers


def var(dtype: str, name: str = "") -> tir.Var:
    """A variable."""
    return tir.Var(name, dtype)


def _scalar(dtype: str) -> Any:
    def make(expr: Any = None) -> Any:
        if expr is None:
            return tir.Var("", dtype)
        return tir.const(expr, dtype) if isinstance(expr, (int, float)) else tir.Cast(dtype, expr)

    make.__name__ = make.__qualname__ = dtype
    make.__doc__ = f"A value as {dtype}; without one, a variable."
    return make


int32x4, int32x8, int32x16 = (_scalar(f"int32x{lanes}") for lanes in (4, 8, 16))
int8, int16, int32, int64 = (_scalar(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_scalar(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (_scalar(f"float{bits}") for bits in (16, 32, 64))
float8 = _scalar("float8")
boolean, handle, void = _scalar("bool"), _scalar("handle"), _scalar("void")
