"""Functions of the core under "runtime."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("runtime", __name__)
