"""Schedule rules: what a design space is made of."""

from .rules import (
    AddRFactor,
    AutoBind,
    AutoInline,
    CrossThreadReduction,
    MultiLevelTiling,
    MultiLevelTilingTensorCore,
    MultiLevelTilingWideVector,
    MultiLevelTilingWithIntrin,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
    ReuseType,
)
from .schedule_rule import PyScheduleRule, ScheduleRule

__all__ = [
    "AddRFactor",
    "AutoBind",
    "AutoInline",
    "CrossThreadReduction",
    "MultiLevelTiling",
    "MultiLevelTilingTensorCore",
    "MultiLevelTilingWideVector",
    "MultiLevelTilingWithIntrin",
    "ParallelizeVectorizeUnroll",
    "PyScheduleRule",
    "RandomComputeLocation",
    "ReuseType",
    "ScheduleRule",
]
