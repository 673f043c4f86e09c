"""Functions of the core under relay._transform."""

from ..._ffi.registry import lazy_api

__getattr__ = lazy_api("relay._transform", __name__)
