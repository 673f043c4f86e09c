"""Functions of the core under diagnostics."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("diagnostics", __name__)
