"""What is known of the arguments of a workload."""

from __future__ import annotations

from typing import Any

from .._ffi import register_object
from ..ir import IRModule
from ..runtime import Object, ShapeTuple
from ..tir import PrimFunc
from . import _ffi_api

__all__ = ["ArgInfo", "TensorInfo"]


@register_object("meta_schedule.ArgInfo")
class ArgInfo(Object):
    """One argument."""

    def as_json(self) -> Any:
        """Its JSON form: a list."""
        return _plain(_ffi_api.ArgInfoAsJSON(self))

    @staticmethod
    def from_json(json_obj: Any) -> ArgInfo:
        """The argument that a JSON form means."""
        return _ffi_api.ArgInfoFromJSON(json_obj)

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[ArgInfo]:
        """The arguments of a function."""
        return list(_ffi_api.ArgInfoFromPrimFunc(func))

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """The arguments of the entry of a module."""
        del remove_preproc
        return list(_ffi_api.ArgInfoFromModule(mod))


@register_object("meta_schedule.TensorInfo")
class TensorInfo(ArgInfo):
    """A tensor."""

    dtype: str

    def __init__(self, dtype: Any, shape: Any):
        shape = [int(extent) for extent in shape]
        self.__init_handle_by_constructor__(_ffi_api.TensorInfo, str(dtype), shape)

    @property
    def shape(self) -> ShapeTuple:
        """Its extents."""
        return ShapeTuple([int(extent) for extent in _ffi_api.TensorInfoShape(self)])


def _plain(value: Any) -> Any:
    """Python's own lists, numbers and text for the nodes of the core."""
    from ..ir import Array, Map
    from ..tir import FloatImm, IntImm

    if isinstance(value, (Array, list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (Map, dict)):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (IntImm, FloatImm)):
        return value.value
    if isinstance(value, str):
        return str(value)
    return value
