"""Names under T that stand as statements: variables, threads, allocations, attributes; and the table of all of them.

Each takes (statements, node, names on the left side, *arguments). It returns None when it only declares something,
or a function that puts the rest of the suite inside the scope it opens.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from tessera import ir, runtime, tir
from tessera.script.parser import blocks, buffers
from tessera.script.parser.buffers import Allocation, name_on_the_left, shape_of

# ---- variables and threads -----------------------------------------------------------------------------------------


def var(st: Any, node: ast.AST, names: list, dtype: Any) -> None:
    """A variable that a buffer's shape or a later `let` will bind."""
    name = name_on_the_left(st, node, names)
    made = tir.Var(name, dtype.evaluate() if hasattr(dtype, "evaluate") else str(dtype))
    st.scopes.define_unbound(name, made)


def buffer_var(st: Any, node: ast.AST, names: list, dtype: Any, storage_scope: str = "") -> None:
    name = name_on_the_left(st, node, names)
    element = dtype.evaluate() if hasattr(dtype, "evaluate") else ir.PrimType(str(dtype))
    st.scopes.define_unbound(name, tir.Var(name, ir.PointerType(element, storage_scope)))


def env_thread(st: Any, node: ast.AST, names: list, thread: str) -> None:
    """A thread. A name given again is another thread: launches of the name take them in turn."""
    name = name_on_the_left(st, node, names)
    variable = tir.Var(name, "int32")
    st.function.env_threads[variable] = thread
    st.function.threads_of.setdefault(name, []).append(variable)
    st.scopes.define(name, st.function.threads_of[name][0])


def launch_thread(st: Any, node: ast.AST, names: list, thread: Any, extent: Any) -> Callable:
    if not isinstance(thread, tir.Var) or thread not in st.function.env_threads:
        raise st.source.error(node, "T.launch_thread takes a name made by T.env_thread")
    thread = st.function.next_thread(thread)
    st.scopes.define(thread.name, thread)
    extent = st.ev.as_expr(extent, node)
    tag = st.function.env_threads[thread]
    dom = ir.Range.from_min_extent(tir.const(0, extent.dtype), extent)
    axis = tir.IterVar(dom, thread, tir.IterVar.ThreadIndex, tag)
    key = "virtual_thread" if tag.startswith("vthread") else "thread_extent"
    return lambda body: tir.AttrStmt(axis, key, extent, body)


# ---- scopes ------------------------------------------------------------------------------------------------------------


def allocate(
    st: Any,
    node: ast.AST,
    names: list,
    extents: Any,
    dtype: str,
    scope: str = "global",
    condition: Any = True,
    annotations: Any = None,
) -> Allocation:
    name = name_on_the_left(st, node, names)
    storage = "int8" if dtype == "bool" else dtype
    pointer = ir.PointerType(ir.PrimType(storage), "" if scope == "global" else scope)
    variable = st.scopes.bind(name, lambda: tir.Var(name, pointer))
    condition = st.ev.as_expr(condition, node)
    shape = shape_of(st, node, extents)
    return Allocation(lambda body: tir.Allocate(variable, dtype, shape, condition, body, annotations))


def allocate_const(
    st: Any,
    node: ast.AST,
    names: list,
    data: Any,
    dtype: str,
    shape: Any,
    annotations: Any = None,
    irmod_storage_idx: Any = None,
) -> Allocation:
    """Constant memory, with its elements given as a (nested) list or an array; or the number of a module's constant."""
    import numpy as np

    name = name_on_the_left(st, node, names)
    extents = shape_of(st, node, shape)
    variable = st.scopes.bind(name, lambda: tir.Var(name, ir.PointerType(ir.PrimType(dtype))))
    if data is None:
        content = st.ev.as_expr(irmod_storage_idx, node)
    else:
        data = data.numpy() if isinstance(data, runtime.NDArray) else data
        values = np.asarray(data, dtype)
        sizes = [int(extent.value) for extent in extents]
        content = runtime.ndarray.array(values.reshape(sizes) if values.size == np.prod(sizes) else values)
    return Allocation(lambda body: tir.AllocateConst(variable, dtype, extents, content, body, annotations))


def let(st: Any, node: ast.AST, names: list, variable: Any, value: Any) -> Callable:
    value = st.ev.as_expr(value, node)
    if not isinstance(variable, tir.Var):
        raise st.source.error(node, "T.let binds a variable: `with T.let(x, value):`")
    st.scopes.finalize(variable)
    return lambda body: tir.LetStmt(variable, value, body)


def attr(st: Any, node: ast.AST, names: list, target: Any, key: str, value: Any) -> Callable:
    value = st.ev.as_expr(value, node)
    if isinstance(target, (bool, int, float)):
        target = st.ev.as_expr(target, node)
    return lambda body: tir.AttrStmt(target, key, value, body)


def assert_(st: Any, node: ast.AST, names: list, condition: Any, message: Any) -> Callable:
    condition, message = st.ev.as_expr(condition, node), st.ev.as_expr(message, node)
    return lambda body: tir.AssertStmt(condition, message, body)


DECLARATIONS: dict[str, Callable] = {
    "Assert": assert_,
    "alloc_buffer": buffers.alloc_buffer,
    "allocate": allocate,
    "allocate_const": allocate_const,
    "attr": attr,
    "axis.R": blocks.axis(tir.IterVar.CommReduce),
    "axis.S": blocks.axis(tir.IterVar.DataPar),
    "axis.opaque": blocks.axis(tir.IterVar.DimInfo),
    "axis.reduce": blocks.axis(tir.IterVar.CommReduce),
    "axis.remap": blocks.remap,
    "axis.scan": blocks.axis(tir.IterVar.Ordered),
    "axis.spatial": blocks.axis(tir.IterVar.DataPar),
    "block_attr": blocks.block_attr,
    "buffer_decl": buffers.buffer_decl,
    "buffer_var": buffer_var,
    "decl_buffer": buffers.decl_buffer,
    "env_thread": env_thread,
    "launch_thread": launch_thread,
    "let": let,
    "match_buffer": buffers.match_buffer,
    "preflattened_buffer": buffers.preflattened_buffer,
    "reads": blocks.reads,
    "realize": buffers.realize,
    "var": var,
    "where": blocks.where,
    "writes": blocks.writes,
}
