"""Functions of the core under "tir."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("tir", __name__)
