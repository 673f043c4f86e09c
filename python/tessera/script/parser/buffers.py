"""Names under T that declare buffers: match_buffer, alloc_buffer, decl_buffer, buffer_decl, preflattened_buffer."""

from __future__ import annotations

import ast
from typing import Any, Callable

from tessera import ir, tir
from tessera.script.parser.regions import BufferSlice


class Allocation:
    """A scope that also gives a name."""

    def __init__(self, wrap: Callable):
        self.wrap = wrap


def name_on_the_left(st: Any, node: ast.AST, names: list) -> str:
    if len(names) != 1:
        raise st.source.error(node, "this gives one name: write `name = T....`")
    return names[0]


def shape_of(st: Any, node: ast.AST, shape: Any) -> list:
    parts = list(shape) if isinstance(shape, (tuple, list, ir.Array)) else [shape]
    return [st.ev.as_expr(part, node) for part in parts]


def declare_buffer(
    st: Any,
    node: ast.AST,
    name: str,
    shape: Any,
    dtype: Any = "float32",
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
    """A buffer with the arguments that every buffer declaration takes.

    `buffer_type="auto_broadcast"` gives every dimension a stride of its own. `type="auto"` is what the printer writes
    of such a buffer, whose strides then stand in `strides`, or are gone.
    """
    if buffer_type not in ("default", "", "auto", "auto_broadcast"):
        raise st.source.error(node, f'buffer_type is "default" or "auto_broadcast", not {buffer_type!r}')
    is_broadcast = type == "auto" or buffer_type in ("auto", "auto_broadcast")
    buffer = tir.decl_buffer(
        shape_of(st, node, shape),
        _dtype_text(dtype),
        name,
        data,
        None if strides is None else shape_of(st, node, strides),
        None if elem_offset is None else st.ev.as_expr(elem_offset, node),
        "" if scope == "global" else scope,
        align,
        offset_factor,
        "auto_broadcast" if is_broadcast and type != "auto" else "",
        axis_separators,
    )
    if type != "auto":
        return buffer
    same = [
        "data",
        "dtype",
        "shape",
        "axis_separators",
        "strides",
        "elem_offset",
        "name",
        "data_alignment",
        "offset_factor",
        "span",
    ]
    return ir.make_node("tir.Buffer", buffer_type=2, **{field: getattr(buffer, field) for field in same})


def _dtype_text(dtype: Any) -> str:
    return dtype.dtype if hasattr(dtype, "dtype") else str(dtype)


def region_of(st: Any, node: ast.AST, value: Any) -> Any:
    """A buffer access as a rectangle."""
    if isinstance(value, BufferSlice):
        return value.as_region()
    if isinstance(value, tir.BufferLoad):
        ranges = [ir.Range.from_min_extent(index, tir.const(1, index.dtype)) for index in value.indices]
        return tir.BufferRegion(value.buffer, ranges)
    if isinstance(value, tir.BufferRegion):
        return value
    if isinstance(value, tir.Buffer):
        ranges = [ir.Range.from_min_extent(tir.const(0, extent.dtype), extent) for extent in value.shape]
        return tir.BufferRegion(value, ranges)
    raise st.source.error(node, "expected a buffer region, such as A[0:8, i]")


def match_buffer(st: Any, node: ast.AST, names: list, source: Any, *args: Any, **kwargs: Any) -> None:
    """A parameter's buffer; inside a block, a view of a region."""
    name = name_on_the_left(st, node, names)
    if isinstance(source, tir.Var):
        if not args and "shape" not in kwargs:
            raise st.source.error(node, "T.match_buffer of a parameter needs a shape")
        if not any(source.same_as(param) for param in st.function.params):
            raise st.source.error(node, f"{source.name} is not a parameter of this function")
        buffer = declare_buffer(st, node, name, *args, **kwargs)
        st.function.buffer_map[source] = buffer
        for value in [*buffer.shape, *buffer.strides, buffer.elem_offset]:
            st.scopes.finalize(value)
    else:
        region = region_of(st, node, source)
        if not args and "shape" not in kwargs:
            kwargs["shape"] = [r.extent for r in region.region]
        if len(args) < 2:
            kwargs.setdefault("dtype", region.buffer.dtype)
        buffer = declare_buffer(st, node, name, *args, **kwargs)
        if not st.scopes.blocks:
            raise st.source.error(node, "T.match_buffer of a region stands inside a block")
        st.scopes.blocks[-1].match_buffers.append(tir.MatchBufferRegion(buffer, region))
    st.scopes.define(name, buffer)


def buffer_decl(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> None:
    """A view that no statement declares."""
    name = name_on_the_left(st, node, names)
    st.scopes.define(name, declare_buffer(st, node, name, *args, **kwargs))


def decl_buffer(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> Allocation:
    """A view of `data`; without it, of memory that is allocated here."""
    name = name_on_the_left(st, node, names)
    buffer = declare_buffer(st, node, name, *args, **kwargs)
    st.scopes.define(name, buffer)
    if len(args) > 2 or kwargs.get("data") is not None:
        return Allocation(lambda body: tir.DeclBuffer(buffer, body))
    true = tir.const(True, "bool")
    return Allocation(
        lambda body: tir.Allocate(buffer.data, buffer.dtype, buffer.shape, true, tir.DeclBuffer(buffer, body))
    )


def alloc_buffer(st: Any, node: ast.AST, names: list, *args: Any, **kwargs: Any) -> None:
    """A buffer that the block around (or the root block) allocates."""
    name = name_on_the_left(st, node, names)
    if isinstance(st.scopes.known(name), tir.Buffer):
        raise st.source.error(node, f"there is already a buffer {name} here")
    buffer = declare_buffer(st, node, name, *args, **kwargs)
    owner = st.scopes.blocks[-1].alloc_buffers if st.scopes.blocks else st.function.root_allocs
    owner.append(buffer)
    st.scopes.define(name, buffer)


def preflattened_buffer(st: Any, node: ast.AST, names: list, postflattened: Any, *args: Any, **kwargs: Any) -> None:
    """The shape that a parameter's buffer had before it was flattened."""
    if not isinstance(postflattened, tir.Buffer):
        raise st.source.error(node, "T.preflattened_buffer takes the buffer of a parameter")
    for param, buffer in st.function.buffer_map.items():
        if buffer.same_as(postflattened):
            if len(args) < 3:
                kwargs.setdefault("data", buffer.data)
            made = declare_buffer(st, node, buffer.name, *args, **kwargs)
            st.function.preflattened[param] = made
            for value in [*made.shape, *made.strides]:
                st.scopes.finalize(value)
            return
    raise st.source.error(node, f"buffer {postflattened.name} belongs to no parameter")


def realize(st: Any, node: ast.AST, names: list, region: Any, scope: Any = None, condition: Any = True) -> Callable:
    """Memory for a region; with a scope, under the attribute that says it."""
    region = region_of(st, node, region)
    condition = st.ev.as_expr(condition, node)

    def wrap(body: Any) -> Any:
        inner = tir.BufferRealize(region.buffer, region.region, condition, body)
        if scope is None:
            return inner
        return tir.AttrStmt(region.buffer, "realize_scope", tir.StringImm(scope), inner)

    return wrap
