"""Names under T that stand as statements: buffers, block axes and regions, allocations, attributes.

Each takes (statements, node, names on the left side, *arguments). It returns None when it only declares something,
or a function that puts the rest of the suite inside the scope it opens.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from tessera import ir, tir
from tessera.script.parser.expressions import BufferSlice


class Allocation:
    """A scope that also gives a name."""

    def __init__(self, wrap: Callable):
        self.wrap = wrap


def _name(st: Any, node: ast.AST, names: list) -> str:
    if len(names) != 1:
        raise st.source.error(node, "this gives one name: write `name = T....`")
    return names[0]


def _shape(st: Any, node: ast.AST, shape: Any) -> list:
    parts = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    return [st.ev.as_expr(part, node) for part in parts]


def declare_buffer(
    st: Any,
    node: ast.AST,
    name: str,
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
    type: str | None = None,
) -> Any:
    """A buffer with the arguments that every buffer declaration takes."""
    kind = type or buffer_type
    return tir.decl_buffer(
        _shape(st, node, shape),
        str(dtype),
        name,
        data,
        None if strides is None else _shape(st, node, strides),
        None if elem_offset is None else st.ev.as_expr(elem_offset, node),
        "" if scope == "global" else scope,
        align,
        offset_factor,
        "auto_broadcast" if kind in ("auto", "auto_broadcast") else "",
        axis_separators,
    )


def region_of(st: Any, node: ast.AST, value: Any) -> Any:
    """A buffer access as a rectangle."""
    if isinstance(value, BufferSlice):
        return value.as_region()
    if isinstance(value, tir.BufferLoad):
        ranges = [ir.Range.from_min_extent(index, tir.const(1, index.dtype)) for index in value.indices]
        return tir.BufferRegion(value.buffer, ranges)
    if isinstance(value, tir.Buffer):
        ranges = [ir.Range.from_min_extent(tir.const(0, extent.dtype), extent) for extent in value.shape]
        return tir.BufferRegion(value, ranges)
    raise st.source.error(node, "expected a buffer region, such as A[0:8, i]")


# ---- buffers ---------------------------------------------------------------------------------------------------


def match_buffer(st: Any, node: ast.AST, names: list, source: Any, *args: Any, **kwargs: Any) -> None:
    name = _name(st, node, names)
    if isinstance(source, tir.Var):
        if not args and "shape" not in kwargs:
            raise st.source.error(node, "T.match_buffer of a parameter needs a shape")
        buffer = declare_buffer(st, node, name, *args, **kwargs)
        st.function.buffer_map[source] = buffer
    else:
        region = region_of(st, node, source)
        if not args and "shape" not in kwargs:
            kwargs["shape"] = [r.extent for r in region.region]
        kwargs.setdefault("dtype", region.buffer.dtype) if len(args) < 2 else None
        kwargs.setdefault("scope", region.buffer.scope())
        buffer = declare_buffer(st, node, name, *args, **kwargs)
        if not st.scopes.blocks:
            raise st.source.error(node, "T.match_buffer of a region stands inside a block")
        st.scopes.blocks[-1].match_buffers.append(tir.MatchBufferRegion(buffer, region))
    st.scopes.define(name, buffer)


def buffer_decl(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> None:
    name = _name(st, node, names)
    st.scopes.define(name, declare_buffer(st, node, name, *args, **kwargs))


def decl_buffer(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> Allocation:
    name = _name(st, node, names)
    buffer = declare_buffer(st, node, name, *args, **kwargs)
    st.scopes.define(name, buffer)
    return Allocation(lambda body: tir.DeclBuffer(buffer, body))


def alloc_buffer(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> None:
    name = _name(st, node, names)
    buffer = declare_buffer(st, node, name, *args, **kwargs)
    owner = st.scopes.blocks[-1].alloc_buffers if st.scopes.blocks else st.function.root_allocs
    owner.append(buffer)
    st.scopes.define(name, buffer)


def preflattened_buffer(st: Any, node: ast.AST, names: list, postflattened: Any, *args: Any, **kwargs: Any) -> None:
    for param, buffer in st.function.buffer_map.items():
        if buffer.same_as(postflattened):
            kwargs.setdefault("data", buffer.data)
            st.function.preflattened[param] = declare_buffer(st, node, buffer.name, *args, **kwargs)
            return
    raise st.source.error(node, f"buffer {postflattened.name} belongs to no parameter")


# ---- variables and threads -----------------------------------------------------------------------------------------


def var(st: Any, node: ast.AST, names: list, dtype: str) -> None:
    name = _name(st, node, names)
    st.scopes.define(name, tir.Var(name, str(dtype)))


def buffer_var(st: Any, node: ast.AST, names: list, dtype: str, storage_scope: str = "") -> None:
    name = _name(st, node, names)
    st.scopes.define(name, tir.Var(name, ir.PointerType(ir.PrimType(str(dtype)), storage_scope)))


def env_thread(st: Any, node: ast.AST, names: list, thread: str) -> None:
    name = _name(st, node, names)
    variable = tir.Var(name, "int32")
    st.function.env_threads[variable] = thread
    st.scopes.define(name, variable)


def launch_thread(st: Any, node: ast.AST, names: list, thread: Any, extent: Any) -> Callable:
    if thread not in st.function.env_threads:
        raise st.source.error(node, "T.launch_thread takes a name made by T.env_thread")
    extent = st.ev.as_expr(extent, node)
    tag = st.function.env_threads[thread]
    axis = tir.IterVar(
        ir.Range.from_min_extent(tir.const(0, extent.dtype), extent), thread, tir.IterVar.ThreadIndex, tag
    )
    key = "virtual_thread" if tag == "vthread" or tag.startswith("vthread.") else "thread_extent"
    return lambda body: tir.AttrStmt(axis, key, extent, body)


# ---- functions and blocks --------------------------------------------------------------------------------------------


def func_attr(st: Any, node: ast.AST, names: list, attrs: dict) -> None:
    st.function.attrs.update(attrs)


def _block(st: Any, node: ast.AST) -> Any:
    if not st.scopes.blocks:
        raise st.source.error(node, "this stands inside a block: `with T.block(...):`")
    return st.scopes.blocks[-1]


def _regions(st: Any, node: ast.AST, values: tuple) -> list:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = tuple(values[0])
    return [region_of(st, node, value) for value in values]


def reads(st: Any, node: ast.AST, names: list, *regions: Any) -> None:
    _block(st, node).reads = _regions(st, node, regions)


def writes(st: Any, node: ast.AST, names: list, *regions: Any) -> None:
    _block(st, node).writes = _regions(st, node, regions)


def where(st: Any, node: ast.AST, names: list, predicate: Any) -> None:
    _block(st, node).predicate = st.ev.as_expr(predicate, node)


def block_attr(st: Any, node: ast.AST, names: list, attrs: dict) -> None:
    _block(st, node).annotations.update(attrs)


def _axis(iter_type: int) -> Callable:
    def declare(st: Any, node: ast.AST, names: list, dom: Any, value: Any) -> None:
        value = st.ev.as_expr(value, node)
        if isinstance(dom, (tuple, list)):
            low, high = (st.ev.as_expr(bound, node, value.dtype) for bound in dom)
            dom = ir.Range(low, high)
        else:
            extent = st.ev.as_expr(dom, node, value.dtype)
            dom = ir.Range.from_min_extent(tir.const(0, extent.dtype), extent)
        _add_axis(st, node, _name(st, node, names), dom, value, iter_type)

    return declare


def _add_axis(st: Any, node: ast.AST, name: str, dom: Any, value: Any, iter_type: int) -> None:
    variable = tir.Var(name, dom.extent.dtype)
    block = _block(st, node)
    block.iter_vars.append(tir.IterVar(dom, variable, iter_type))
    block.iter_values.append(value)
    st.scopes.define(name, variable)


def remap(st: Any, node: ast.AST, names: list, kinds: str, values: list) -> None:
    types = {"S": tir.IterVar.DataPar, "R": tir.IterVar.CommReduce}
    if not len(kinds) == len(values) == len(names):
        raise st.source.error(node, f"{len(names)} names, {len(kinds)} kinds and {len(values)} loops do not match")
    for name, kind, value in zip(names, kinds, values):
        if kind not in types:
            raise st.source.error(node, f"an axis is S (spatial) or R (reduce), not {kind!r}")
        if value not in st.scopes.loop_ranges:
            raise st.source.error(node, "T.axis.remap takes loop variables")
        low, extent = st.scopes.loop_ranges[value]
        _add_axis(st, node, name, ir.Range.from_min_extent(low, extent), value, types[kind])


# ---- scopes ------------------------------------------------------------------------------------------------------------


def allocate(
    st: Any,
    node: ast.AST,
    names: list,
    extents: Any,
    dtype: str,
    scope: str,
    condition: Any = True,
    annotations: Any = None,
) -> Allocation:
    name = _name(st, node, names)
    variable = tir.Var(name, ir.PointerType(ir.PrimType(dtype), "" if scope == "global" else scope))
    st.scopes.define(name, variable)
    condition = st.ev.as_expr(condition, node)
    shape = _shape(st, node, extents)
    return Allocation(lambda body: tir.Allocate(variable, dtype, shape, condition, body, annotations))


def allocate_const(
    st: Any, node: ast.AST, names: list, data: Any, dtype: str, shape: Any, annotations: Any = None
) -> Allocation:
    import numpy as np

    from tessera import runtime

    name = _name(st, node, names)
    variable = tir.Var(name, ir.PointerType(ir.PrimType(dtype)))
    st.scopes.define(name, variable)
    extents = _shape(st, node, shape)
    values = runtime.ndarray.array(np.asarray(data, dtype).reshape([int(e.value) for e in extents]))
    return Allocation(lambda body: tir.AllocateConst(variable, dtype, extents, values, body, annotations))


def let(st: Any, node: ast.AST, names: list, variable: Any, value: Any) -> Callable:
    value = st.ev.as_expr(value, node)
    return lambda body: tir.LetStmt(variable, value, body)


def attr(st: Any, node: ast.AST, names: list, target: Any, key: str, value: Any) -> Callable:
    value = st.ev.as_expr(value, node)
    if isinstance(target, (int, str)):
        target = st.ev.as_expr(target, node)
    return lambda body: tir.AttrStmt(target, key, value, body)


def realize(st: Any, node: ast.AST, names: list, region: Any, scope: str, condition: Any = True) -> Callable:
    region = region_of(st, node, region)
    condition = st.ev.as_expr(condition, node)

    def wrap(body: Any) -> Any:
        inner = tir.BufferRealize(region.buffer, region.region, condition, body)
        return tir.AttrStmt(region.buffer, "realize_scope", tir.StringImm(scope), inner)

    return wrap


def assert_(st: Any, node: ast.AST, names: list, condition: Any, message: Any) -> Callable:
    condition, message = st.ev.as_expr(condition, node), st.ev.as_expr(message, node)
    return lambda body: tir.AssertStmt(condition, message, body)


DECLARATIONS: dict[str, Callable] = {
    "Assert": assert_,
    "alloc_buffer": alloc_buffer,
    "allocate": allocate,
    "allocate_const": allocate_const,
    "attr": attr,
    "axis.S": _axis(tir.IterVar.DataPar),
    "axis.R": _axis(tir.IterVar.CommReduce),
    "axis.opaque": _axis(tir.IterVar.DimInfo),
    "axis.reduce": _axis(tir.IterVar.CommReduce),
    "axis.remap": remap,
    "axis.scan": _axis(tir.IterVar.Ordered),
    "axis.spatial": _axis(tir.IterVar.DataPar),
    "block_attr": block_attr,
    "buffer_decl": buffer_decl,
    "buffer_var": buffer_var,
    "decl_buffer": decl_buffer,
    "env_thread": env_thread,
    "func_attr": func_attr,
    "launch_thread": launch_thread,
    "let": let,
    "match_buffer": match_buffer,
    "preflattened_buffer": preflattened_buffer,
    "reads": reads,
    "realize": realize,
    "var": var,
    "where": where,
    "writes": writes,
}
