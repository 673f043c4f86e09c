"""Functions of the core under "tir.usmp.transform."."""

from ...._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.usmp.transform", __name__)
