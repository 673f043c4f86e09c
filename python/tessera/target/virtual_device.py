"""Devices as a program names them before it runs, and the targets of a build."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..runtime import ndarray as nd
from ..runtime.object import Object
from . import _ffi_api
from .target import Target

__all__ = ["CompilationConfig", "VirtualDevice", "make_compilation_config"]


@register_object("VirtualDevice")
class VirtualDevice(Object):
    """A kind of device, which of them, what code it runs and which of its memories."""

    def __init__(self, device: Any = None, target: Any = None, memory_scope: str = ""):
        if device is None:  # any
            device = nd.device(-1, -1)
        target = Target(target) if target is not None else None
        make = _ffi_api.VirtualDevice_ForDeviceTargetAndMemoryScope
        self.__init_handle_by_constructor__(make, device, target, memory_scope)

    @property
    def device_type(self) -> int:
        """The number of the kind of device."""
        return self.device_type_int


@register_object("CompilationConfig")
class CompilationConfig(Object):
    """The targets of a build, and where things are when nothing says so."""


def make_compilation_config(ctxt: Any, target: Any, target_host: Any = None) -> CompilationConfig:
    """The configuration for one target, a list of them, or a dictionary from devices to them."""
    del ctxt
    if isinstance(target, dict):
        target = list(target.values())
    targets = [Target(item) for item in (target if isinstance(target, (list, tuple)) else [target])]
    return _ffi_api.MakeCompilationConfig(targets, Target(target_host) if target_host is not None else None)
