"""AutoTVM: templates with knobs, spaces of configurations, tuners that measure them, records, and contexts that apply the best."""

from . import database, env, feature, measure, record, task, tophub, tuner, utils
from .env import GLOBAL_SCOPE
from .measure import (
    LocalBuilder,
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    measure_option,
)
from .task import (
    AnnotateEntity,
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
    ConfigEntity,
    ConfigSpace,
    DispatchContext,
    FallbackConfigEntity,
    FallbackContext,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    create,
    get_config,
    register_topi_compute,
    register_topi_schedule,
    template,
)
from .tuner import callback

apply_history_best = ApplyHistoryBest
apply_graph_best = ApplyGraphBest

__all__ = [
    "GLOBAL_SCOPE",
    "AnnotateEntity",
    "ApplyFixedConfig",
    "ApplyGraphBest",
    "ApplyHistoryBest",
    "ConfigEntity",
    "ConfigSpace",
    "DispatchContext",
    "FallbackConfigEntity",
    "FallbackContext",
    "LocalBuilder",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "OtherOptionEntity",
    "RPCRunner",
    "ReorderEntity",
    "SplitEntity",
    "apply_graph_best",
    "apply_history_best",
    "callback",
    "create",
    "database",
    "env",
    "feature",
    "get_config",
    "measure",
    "measure_option",
    "record",
    "register_topi_compute",
    "register_topi_schedule",
    "task",
    "template",
    "tophub",
    "tuner",
    "utils",
]
