"""Functions of the core under "tir.usmp."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.usmp", __name__)
