"""Functions of the core under "relay.analysis."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("relay.analysis", __name__)
