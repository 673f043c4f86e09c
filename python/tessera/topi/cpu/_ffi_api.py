"""Functions of the core under "topi.cpu."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("topi.cpu", __name__)
