"""Ways to find offsets for buffers; each takes the buffers and the most bytes that are live at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _ffi_algo_api
from .utils import BufferInfo


def greedy_by_size(buffers: Sequence[BufferInfo], memory_pressure: int = 0) -> Any:
    """Large buffers first."""
    return _ffi_algo_api.greedy_by_size(buffers, int(memory_pressure))


def greedy_by_conflicts(buffers: Sequence[BufferInfo], memory_pressure: int = 0) -> Any:
    """Buffers of many conflicts first."""
    return _ffi_algo_api.greedy_by_conflicts(buffers, int(memory_pressure))


def hill_climb(buffers: Sequence[BufferInfo], memory_pressure: int = 0) -> Any:
    """Orders of the buffers that need less and less, until no more than `memory_pressure` or 500 are tried."""
    return _ffi_algo_api.hill_climb(buffers, int(memory_pressure))
