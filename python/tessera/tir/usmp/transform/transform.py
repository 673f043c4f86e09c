"""Allocations as offsets in memory pools."""

from __future__ import annotations

from typing import Any

from ....ir.transform import Pass
from . import _ffi_api


def assign_pool_info() -> Pass:
    """Names in each allocation the pools of the module that its function's target reaches."""
    return _ffi_api.AssignPoolInfo()


def convert_pool_allocations_to_offsets(pool_allocations: Any, emit_tvmscript_printable: bool = False) -> Pass:
    """Allocations become addresses in pools, which functions take as their last parameters.

    `pool_allocations` maps statements to pool allocations (`utils.assign_stmt_pool_allocations`).
    """
    return _ffi_api.ConvertPoolAllocationsToOffsets(pool_allocations, emit_tvmscript_printable)
