"""When the allocations of a module are live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _ffi_api

if TYPE_CHECKING:
    from ....ir.module import IRModule
    from ...function import PrimFunc
    from ..utils import BufferInfoAnalysis


def extract_buffer_info(main_func: PrimFunc, mod: IRModule) -> BufferInfoAnalysis:
    """What `main_func` and the functions of `mod` that it calls allocate, with sizes and conflicts."""
    return _ffi_api.extract_buffer_info(main_func, mod)
