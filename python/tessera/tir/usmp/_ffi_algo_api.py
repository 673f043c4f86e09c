"""Functions of the core under "tir.usmp.algo."."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("tir.usmp.algo", __name__)
