"""Copies between devices."""

from __future__ import annotations

from typing import Any

from ..expr import Call
from ._make import call_op
from .annotation.annotation import as_virtual_device

__all__ = ["device_copy"]


def device_copy(data: Any, src_device: Any, dst_device: Any) -> Call:
    """The input, copied from one device to another."""
    attrs = {"src_virtual_device": as_virtual_device(src_device), "dst_virtual_device": as_virtual_device(dst_device)}
    return call_op("device_copy", [data], attrs)
