"""Functions of the core under "tir.usmp.analysis."."""

from ...._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.usmp.analysis", __name__)
