"""Functions of the core under "topi."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("topi", __name__)
