"""Measuring configurations: built here on all cores, run in another process."""

from . import executor
from .measure import (
    Builder,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    Runner,
    create_measure_batch,
    measure_option,
)
from .measure_methods import BuildResult, LocalBuilder, LocalRunner, RPCRunner, request_remote

__all__ = [
    "BuildResult",
    "Builder",
    "LocalBuilder",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "RPCRunner",
    "Runner",
    "create_measure_batch",
    "measure_option",
    "request_remote",
]
