"""Functions of the core under "transform."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("transform", __name__)
