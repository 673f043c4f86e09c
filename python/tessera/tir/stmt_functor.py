"""Walks over programs, and rewrites by them."""

from __future__ import annotations

from typing import Any, Callable

from . import _ffi_api

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: list[str] | None = None,
) -> Any:
    """Rewrites a program from the inside out.

    `preorder(node)` may give the node that replaces it, which is then not entered, or None to go on. `postorder(node)`
    sees the node with its children rewritten and may give a replacement, or None to keep it. With `only_enable`, the
    functions see only nodes of the types named (such as "tir.For").
    """
    return _ffi_api.IRTransform(stmt, preorder, postorder, only_enable)


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Calls `fvisit` on every node once, children before parents."""
    return _ffi_api.PostOrderVisit(stmt, fvisit)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Calls `fvisit` on every node, parents first; children are entered where it gives True."""
    return _ffi_api.PreOrderVisit(stmt, fvisit)


def substitute(node: Any, vmap: dict[Any, Any]) -> Any:
    """The expression or statement with variables replaced."""
    return _ffi_api.Substitute(node, vmap)


def renew_defs(func: Any) -> Any:
    """A copy of the function in which every variable and buffer it defines is new."""
    return _ffi_api.RenewDefs(func)
