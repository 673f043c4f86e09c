"""Names under T that say something about the block around them: axes, regions, the predicate, annotations."""

from __future__ import annotations

import ast
from typing import Any, Callable

from tessera import ir, tir
from tessera.script.parser.buffers import name_on_the_left, region_of
from tessera.script.parser.regions import range_between


def _block(st: Any, node: ast.AST) -> Any:
    if not st.scopes.blocks:
        raise st.source.error(node, "this stands inside a block: `with T.block(...):`")
    return st.scopes.blocks[-1]


def _regions(st: Any, node: ast.AST, values: tuple) -> list:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = tuple(values[0])
    return [region_of(st, node, value) for value in values]


def _once(st: Any, node: ast.AST, name: str) -> Any:
    """The block, of which a script says this only once."""
    block = _block(st, node)
    if name in block.said:
        raise st.source.error(node, f"T.{name} stands once in a block")
    block.said.add(name)
    return block


def reads(st: Any, node: ast.AST, names: list, *regions: Any) -> None:
    _once(st, node, "reads").reads = _regions(st, node, regions)


def writes(st: Any, node: ast.AST, names: list, *regions: Any) -> None:
    _once(st, node, "writes").writes = _regions(st, node, regions)


def where(st: Any, node: ast.AST, names: list, predicate: Any) -> None:
    _once(st, node, "where").predicate = st.ev.as_expr(predicate, node)


def block_attr(st: Any, node: ast.AST, names: list, attrs: dict) -> None:
    if not isinstance(attrs, dict):
        raise st.source.error(node, 'T.block_attr takes a dictionary, such as {"key": value}')
    _once(st, node, "block_attr").annotations.update(attrs)


def axis(iter_type: int) -> Callable:
    """T.axis.spatial(8, i), T.axis.reduce((1, 9), k + 1), ..."""

    def declare(st: Any, node: ast.AST, names: list, dom: Any, value: Any) -> None:
        value = st.ev.as_expr(value, node)
        if isinstance(dom, (tuple, list)):
            if len(dom) != 2:
                raise st.source.error(node, "the domain of an axis is an extent or (begin, end)")
            dom = range_between(*(st.ev.as_expr(bound, node) for bound in dom))
        elif not isinstance(dom, ir.Range):
            extent = st.ev.as_expr(dom, node)
            dom = ir.Range.from_min_extent(tir.const(0, extent.dtype), extent)
        _add_axis(st, node, name_on_the_left(st, node, names), dom, value, iter_type)

    return declare


def _add_axis(st: Any, node: ast.AST, name: str, dom: Any, value: Any, iter_type: int) -> None:
    variable = tir.Var(name, dom.extent.dtype)
    block = _block(st, node)
    if any(other.var.name == name for other in block.iter_vars):
        raise st.source.error(node, f"the block already has an axis {name}")
    block.iter_vars.append(tir.IterVar(dom, variable, iter_type))
    block.iter_values.append(value)
    st.scopes.define(name, variable)


def remap(st: Any, node: ast.AST, names: list, kinds: str, values: list) -> None:
    """One axis for each loop variable, over the loop's range."""
    types = {"S": tir.IterVar.DataPar, "R": tir.IterVar.CommReduce}
    if not len(kinds) == len(values) == len(names):
        raise st.source.error(node, f"{len(names)} names, {len(kinds)} kinds and {len(values)} loops do not match")
    for name, kind, value in zip(names, kinds, values):
        if kind not in types:
            raise st.source.error(node, f"an axis is S (spatial) or R (reduce), not {kind!r}")
        if not isinstance(value, tir.Var) or value not in st.scopes.loop_ranges:
            raise st.source.error(node, "T.axis.remap takes loop variables")
        low, extent = st.scopes.loop_ranges[value]
        _add_axis(st, node, name, ir.Range.from_min_extent(low, extent), value, types[kind])
