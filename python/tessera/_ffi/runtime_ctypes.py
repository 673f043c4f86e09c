"""Devices and element types."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from .._ffi_core import DataTypeBase, DeviceBase
from .registry import get_global_func

#: Device types of this size and more live behind an RPC session.
RPC_SESS_MASK = 128


class DataTypeCode:
    """Codes of element types."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


class DataType(DataTypeBase):
    """An element type: ``DataType("float32x4")``, or from a NumPy type."""

    CODE2STR: ClassVar[dict[int, str]] = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat"}

    def __new__(cls, type_str: Any) -> DataType:
        if isinstance(type_str, (np.dtype, type)):
            type_str = str(np.dtype(type_str))
        return super().__new__(cls, type_str)

    def itemsize(self) -> int:
        """Bytes of one element."""
        return (self.bits * self.lanes + 7) // 8


class Device(DeviceBase):
    """A device: ``tvm.cpu(0)``, ``tvm.device("cuda", 1)``. Facts about it are attributes."""

    MASK2STR: ClassVar[dict[int, str]] = {
        1: "cpu",
        2: "cuda",
        4: "opencl",
        5: "aocl",
        6: "sdaccel",
        7: "vulkan",
        8: "metal",
        9: "vpi",
        10: "rocm",
        12: "ext_dev",
        14: "hexagon",
        15: "webgpu",
    }
    STR2MASK: ClassVar[dict[str, int]] = {
        "llvm": 1,
        "stackvm": 1,
        "cpu": 1,
        "c": 1,
        "test": 1,
        "hybrid": 1,
        "composite": 1,
        "cuda": 2,
        "nvptx": 2,
        "gpu": 2,
        "cl": 4,
        "opencl": 4,
        "sdaccel": 4,
        "aocl": 5,
        "aocl_sw_emu": 5,
        "vulkan": 7,
        "metal": 8,
        "mtl": 8,
        "vpi": 9,
        "rocm": 10,
        "ext_dev": 12,
        "hexagon": 14,
        "webgpu": 15,
    }

    def _attr(self, number: int) -> Any:
        return get_global_func("runtime.GetDeviceAttr")(self, number)

    @property
    def exist(self) -> bool:
        """True when the device is there and this build can use it."""
        return bool(self._attr(0))

    @property
    def max_threads_per_block(self) -> int | None:
        return self._attr(1)

    @property
    def warp_size(self) -> int | None:
        """Threads that run in step."""
        return self._attr(2)

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """In bytes."""
        return self._attr(3)

    @property
    def compute_version(self) -> str | None:
        """For example "9.0"."""
        return self._attr(4)

    @property
    def device_name(self) -> str | None:
        return self._attr(5)

    @property
    def max_clock_rate(self) -> int | None:
        """In kHz."""
        return self._attr(6)

    @property
    def multi_processor_count(self) -> int | None:
        return self._attr(7)

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """The largest extents of threadIdx.x, y and z."""
        found = self._attr(8)
        return json.loads(found) if found is not None else None

    @property
    def api_version(self) -> int | None:
        return self._attr(11)

    @property
    def driver_version(self) -> str | None:
        return self._attr(12)

    def texture_spatial_limit(self) -> int | None:
        """The largest extent of a texture."""
        return get_global_func("device_api." + self.MASK2STR[self.device_type] + ".get_texture_spatial_limit")()

    def create_raw_stream(self) -> Any:
        """A new stream, to be given to `set_raw_stream` and, at last, to `free_raw_stream`."""
        return get_global_func("runtime.DeviceCreateStream")(self)

    def free_raw_stream(self, stream: Any) -> None:
        get_global_func("runtime.DeviceFreeStream")(self, stream)

    def set_raw_stream(self, stream: Any) -> None:
        """Later work of this thread on the device goes to `stream`."""
        get_global_func("runtime.DeviceSetStream")(self, stream)

    def sync(self, stream: Any = None) -> None:
        """Waits until all work given to the stream is done."""
        get_global_func("runtime.DeviceSync")(self, stream)

    def __repr__(self) -> str:
        kind, remote = self.device_type, ""
        if kind >= RPC_SESS_MASK:
            remote = f"remote[{kind // RPC_SESS_MASK - 1}]:"
            kind %= RPC_SESS_MASK
        return f"{remote}{self.MASK2STR.get(kind, f'device type {kind}')}({self.device_id})"

    __str__ = __repr__
