"""Functions of the core under "arith."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("arith", __name__)
