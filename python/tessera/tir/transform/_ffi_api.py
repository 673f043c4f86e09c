"""Functions of the core under "tir.transform."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.transform", __name__)
