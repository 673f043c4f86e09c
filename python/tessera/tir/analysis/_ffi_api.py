"""Functions of the core under "tir.analysis."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.analysis", __name__)
