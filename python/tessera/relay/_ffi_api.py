"""Functions of the core under "relay.ir."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("relay.ir", __name__)
