"""Functions of the core under "tir.schedule."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.schedule", __name__)
