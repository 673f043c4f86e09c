"""Operators that give their input and tell a pass something."""

from __future__ import annotations

from typing import Any

from ....runtime.ndarray import Device
from ....runtime.ndarray import device as _device
from ....target import VirtualDevice
from ...expr import Call
from .._make import call_op

__all__ = ["checkpoint", "compiler_begin", "compiler_end", "on_device", "stop_fusion"]


def stop_fusion(data: Any) -> Call:
    """The input itself; it is not fused with what uses it."""
    return call_op("annotation.stop_fusion", [data])


def checkpoint(data: Any) -> Call:
    """The input itself; gradients compute again what it is made of."""
    return call_op("annotation.checkpoint", [data])


def compiler_begin(data: Any, compiler: str) -> Call:
    """Where a region that `compiler` compiles takes an input."""
    return call_op("annotation.compiler_begin", [data], {"compiler": compiler})


def compiler_end(data: Any, compiler: str) -> Call:
    """Where a region that `compiler` compiles gives a result."""
    return call_op("annotation.compiler_end", [data], {"compiler": compiler})


def as_virtual_device(device: Any) -> VirtualDevice:
    """A virtual device from one, from a device or from the name of a kind of device."""
    if isinstance(device, VirtualDevice):
        return device
    if isinstance(device, str):
        device = _device(device)
    if not isinstance(device, Device):
        raise ValueError(f"expecting a Device or device name, but received {type(device)}")
    return VirtualDevice(device)


def on_device(body: Any, device: Any, constrain_result: bool = False, constrain_body: bool = True) -> Call:
    """The input itself, which PlanDevices puts on the device.

    With `constrain_result` what uses it is there too; else a copy is made where it is needed.
    """
    attrs = {
        "virtual_device": as_virtual_device(device),
        "constrain_result": constrain_result,
        "constrain_body": constrain_body,
    }
    return call_op("on_device", [body], attrs)
