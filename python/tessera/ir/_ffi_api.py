"""Functions of the core under "ir."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("ir", __name__)
