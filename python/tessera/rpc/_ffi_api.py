"""Functions of the core under "rpc."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("rpc", __name__)
