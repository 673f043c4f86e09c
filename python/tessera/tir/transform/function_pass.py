"""Passes over single functions, written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._ffi.registry import register_object
from ...ir.transform import Pass, decorate_pass
from . import _ffi_api


@register_object("tir.PrimFuncPass")
class PrimFuncPass(Pass):
    """A pass applied to each tir.PrimFunc of a module; made by :func:`prim_func_pass`."""


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A pass from ``f(func, mod, ctx) -> func``, or from a class with ``transform_function(self, func, mod, ctx)``.

    Works as a decorator; `opt_level` has to be given.
    """
    return decorate_pass(PrimFuncPass, _ffi_api.CreatePrimFuncPass, pass_func, opt_level, name, required)
