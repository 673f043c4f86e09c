"""Tasks: templates with arguments, their spaces of configurations, and who chooses a configuration."""

from .dispatcher import (
    ApplyConfig,
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
    DispatchContext,
    FallbackContext,
)
from .entities import AnnotateEntity, OtherOptionEntity, ReorderEntity, SplitEntity
from .relay_integration import extract_from_multiple_program, extract_from_program
from .space import ConfigEntity, ConfigSpace, FallbackConfigEntity, InstantiationError
from .task import (
    FlopCalculationError,
    Task,
    args_to_workload,
    compute_flop,
    create,
    get_config,
    serialize_args,
    template,
)
from .topi_integration import TaskExtractEnv, register_topi_compute, register_topi_schedule

__all__ = [
    "AnnotateEntity",
    "ApplyConfig",
    "ApplyFixedConfig",
    "ApplyGraphBest",
    "ApplyHistoryBest",
    "ConfigEntity",
    "ConfigSpace",
    "DispatchContext",
    "FallbackConfigEntity",
    "FallbackContext",
    "FlopCalculationError",
    "InstantiationError",
    "OtherOptionEntity",
    "ReorderEntity",
    "SplitEntity",
    "Task",
    "TaskExtractEnv",
    "args_to_workload",
    "compute_flop",
    "create",
    "extract_from_multiple_program",
    "extract_from_program",
    "get_config",
    "register_topi_compute",
    "register_topi_schedule",
    "serialize_args",
    "template",
]
