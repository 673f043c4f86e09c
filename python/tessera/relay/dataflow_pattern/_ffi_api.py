"""Functions of the core under "relay.dataflow_pattern."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("relay.dataflow_pattern", __name__)
