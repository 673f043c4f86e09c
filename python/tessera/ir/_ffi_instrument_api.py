"""Functions of the core under "instrument."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("instrument", __name__)
