"""The names of AutoTVM that programs mention without tuning: templates, default configurations, records of others.

There are no tuners yet: a template runs with the configuration that it would have without records, and what asks for a
search or for records says so.
"""

from __future__ import annotations

from . import tophub
from .config import (
    AnnotateEntity,
    ConfigEntity,
    FallbackConfigEntity,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    get_config,
)
from .templates import register_topi_compute, register_topi_schedule, template

__all__ = [
    "AnnotateEntity",
    "ConfigEntity",
    "FallbackConfigEntity",
    "OtherOptionEntity",
    "ReorderEntity",
    "SplitEntity",
    "get_config",
    "register_topi_compute",
    "register_topi_schedule",
    "template",
    "tophub",
]
