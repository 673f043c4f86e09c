"""Functions of the core's search without templates."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("auto_scheduler", __name__)
