"""Searching for fast schedules of programs of blocks: design spaces, strategies, measuring, databases."""

from . import (
    arg_info,
    builder,
    cost_model,
    database,
    default_config,
    feature_extractor,
    measure_callback,
    mutator,
    postproc,
    relay_integration,
    runner,
    schedule_rule,
    search_strategy,
    space_generator,
    task_scheduler,
)
from .extracted_task import ExtractedTask
from .profiler import Profiler
from .relay_integration import extract_task_from_relay, is_meta_schedule_dispatch_enabled, is_meta_schedule_enabled
from .search_strategy import MeasureCandidate
from .tune import TuneConfig, tune_extracted_tasks, tune_relay, tune_te, tune_tir
from .tune_context import TuneContext
from .utils import derived_object

__all__ = [
    "ExtractedTask",
    "MeasureCandidate",
    "Profiler",
    "TuneConfig",
    "TuneContext",
    "arg_info",
    "builder",
    "cost_model",
    "database",
    "default_config",
    "derived_object",
    "extract_task_from_relay",
    "feature_extractor",
    "is_meta_schedule_dispatch_enabled",
    "is_meta_schedule_enabled",
    "measure_callback",
    "mutator",
    "postproc",
    "relay_integration",
    "runner",
    "schedule_rule",
    "search_strategy",
    "space_generator",
    "task_scheduler",
    "tune_extracted_tasks",
    "tune_relay",
    "tune_te",
    "tune_tir",
]
