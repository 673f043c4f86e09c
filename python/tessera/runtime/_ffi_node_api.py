"""Functions of the core under "node.": what works on every object."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("node", __name__)
