"""Functions of the core under "parser."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("parser", __name__)
