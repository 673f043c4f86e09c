"""The core's search over block schedules: functions below "meta_schedule."."""

from .._ffi.registry import lazy_api

__getattr__ = lazy_api("meta_schedule", __name__)
