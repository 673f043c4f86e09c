"""Functions of the core under "target."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("target", __name__)
