"""Regions of a program between operators that begin and end them."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import register_object
from ...runtime.object import Object
from . import _ffi_api

__all__ = ["AnnotatedRegion", "AnnotatedRegionSet"]


@register_object("relay.AnnotatedRegion")
class AnnotatedRegion(Object):
    """One region: `args` begin it, `rets` end it, `nodes` is all of it; `target` is the code generator it is for."""


@register_object("relay.AnnotatedRegionSet")
class AnnotatedRegionSet(Object):
    """The regions of `expr`; what an end reaches without passing a begin is one."""

    def __init__(self, expr: Any, region_begin_op: Any, region_end_op: Any):
        self.__init_handle_by_constructor__(_ffi_api.AnnotatedRegionSet, expr, region_begin_op, region_end_op)

    def __len__(self) -> int:
        return len(self.regions)

    def get_region(self, expr: Any) -> AnnotatedRegion | None:
        """The region that the expression lies in."""
        return _ffi_api.GetRegion(self, expr)
