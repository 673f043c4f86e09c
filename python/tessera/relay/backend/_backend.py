"""Functions of the core under "relay.backend."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("relay.backend", __name__)
