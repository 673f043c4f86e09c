"""Functions of the core under "te."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("te", __name__)
