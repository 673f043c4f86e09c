"""Python values as objects of the core."""

from __future__ import annotations

from numbers import Integral, Number
from typing import Any

import numpy as np

from .. import _ffi_core
from .._ffi.base import TVMError
from .._ffi.registry import get_global_func
from .._ffi_core import DataTypeBase, DeviceBase, ObjectBase, PackedFunc

__all__ = ["ObjectGeneric", "const", "convert", "convert_to_object"]


class ObjectGeneric:
    """A Python class whose instances stand for an object, which `asobject` gives."""

    def asobject(self) -> Any:
        """The object this stands for."""
        raise NotImplementedError()


def known_value(value: Any) -> Any:
    """A value that the border knows, in place of one it does not; callables are let through."""
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if isinstance(value, (np.bool_, Integral)):
        return int(value)
    if isinstance(value, Number):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, np.dtype):
        return str(value)
    if callable(value):
        return value
    if hasattr(value, "asobject"):
        return value.asobject()
    raise TypeError(f"Don't know how to handle type {type(value)}")


def known_item(value: Any) -> Any:
    """The same for a value inside a container: NumPy's scalars become constants of their type."""
    if isinstance(value, (np.number, np.bool_)):
        return const(value)
    if isinstance(value, (DataTypeBase, DeviceBase, bytes, bytearray)):
        return value
    return known_value(value)


def convert_to_object(value: Any, span: Any = None) -> Any:
    """`value` as an object: numbers become constants, lists Arrays, dicts Maps, None stays None."""
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if isinstance(value, Number) and not isinstance(value, bool):
        return const(value, span=span)
    return _ffi_core.convert(value)


def convert(value: Any, span: Any = None) -> Any:
    """`value` as an object or function of the core; see convert_to_object."""
    if isinstance(value, ObjectBase):
        return value
    if callable(value) and not isinstance(value, ObjectGeneric):
        return PackedFunc(value)
    return convert_to_object(value, span)


def _scalar_type_inference(value: Any) -> str:
    if hasattr(value, "dtype"):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        # float32 is what models compute in; what does not fit there stays float64
        finite = value == value and abs(value) != float("inf")
        return "float64" if finite and abs(value) > float(np.finfo(np.float32).max) else "float32"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64"
    raise NotImplementedError(f"Cannot automatically inference the type. value={value}")


def const(value: Any, dtype: str | None = None, span: Any = None) -> Any:
    """A constant. Without `dtype`, whole numbers are int32 or, outside its range, int64, and others float32."""
    if dtype is None:
        dtype = _scalar_type_inference(value)
    if dtype == "uint64" and 2**63 <= value < 2**64:
        return get_global_func("tir.LargeUIntImm")(dtype, value & 0xFFFFFFFF, value >> 32, span)
    if (
        isinstance(value, Integral)
        and not -(2**63) <= int(value) < 2**63
        and not str(dtype).startswith(("float", "bfloat"))
    ):
        raise TVMError(f"{value} does not fit in {dtype}")
    return get_global_func("tir._const")(value, dtype, span)
