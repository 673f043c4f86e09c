"""Memories that workspaces and constants of a compiled program are put into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api


@register_object("ir.PoolInfoProperties")
class PoolInfoProperties(Object):
    """What is known of a memory; -1 where nothing is."""

    def __init__(
        self,
        size_hint_bytes: int = -1,
        clock_frequency_hz: int = -1,
        read_bandwidth_bytes_per_cycle: int = -1,
        write_bandwidth_bytes_per_cycle: int = -1,
        read_latency_cycles: int = 0,
        write_latency_cycles: int = 0,
        target_burst_bytes: dict[Any, int] | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.PoolInfoProperties,
            size_hint_bytes,
            clock_frequency_hz,
            read_bandwidth_bytes_per_cycle,
            write_bandwidth_bytes_per_cycle,
            read_latency_cycles,
            write_latency_cycles,
            target_burst_bytes or {},
        )


@register_object("ir.PoolInfo")
class PoolInfo(Object):
    """A named memory that code of some targets can reach."""

    READ_WRITE_ACCESS = "rw"
    READ_ONLY_ACCESS = "ro"


@register_object("ir.WorkspacePoolInfo")
class WorkspacePoolInfo(PoolInfo):
    """A memory that is read and written."""

    def __init__(self, pool_name: str, targets: Sequence[Any], pool_info_properties: PoolInfoProperties | None = None):
        self.__init_handle_by_constructor__(_ffi_api.WorkspacePoolInfo, pool_name, targets, pool_info_properties)


@register_object("ir.ConstantInfo")
class ConstantInfo(Object):
    """A constant and its offset in a pool."""

    def __init__(self, name_hint: str, byte_offset: int, data: Any):
        self.__init_handle_by_constructor__(_ffi_api.ConstantInfo, name_hint, byte_offset, data)


@register_object("ir.ConstantPoolInfo")
class ConstantPoolInfo(PoolInfo):
    """A memory that is only read."""

    def __init__(
        self,
        pool_name: str,
        targets: Sequence[Any],
        constant_info_arr: Sequence[ConstantInfo] | None = None,
        pool_info_properties: PoolInfoProperties | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.ConstantPoolInfo, pool_name, targets, constant_info_arr or [], pool_info_properties
        )


@register_object("ir.WorkspaceMemoryPools")
class WorkspaceMemoryPools(Object):
    """The memories that workspaces may be put into."""

    def __init__(self, pools: Sequence[WorkspacePoolInfo]):
        self.__init_handle_by_constructor__(_ffi_api.WorkspaceMemoryPools, pools)


@register_object("ir.ConstantMemoryPools")
class ConstantMemoryPools(Object):
    """The memories that constants may be put into."""

    def __init__(self, pools: Sequence[ConstantPoolInfo]):
        self.__init_handle_by_constructor__(_ffi_api.ConstantMemoryPools, pools)
