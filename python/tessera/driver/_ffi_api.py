"""Functions of the core under "driver."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("driver", __name__)
