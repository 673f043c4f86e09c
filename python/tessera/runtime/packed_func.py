"""Functions of the one calling convention."""

from .._ffi_core import PackedFunc

__all__ = ["PackedFunc"]
