"""Functions of the core under "testing."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("testing", __name__)
