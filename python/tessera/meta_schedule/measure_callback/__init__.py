"""Measure callbacks: what is done with results."""

from .measure_callback import (
    AddToDatabase,
    EchoStatistics,
    MeasureCallback,
    PyMeasureCallback,
    RemoveBuildArtifact,
    UpdateCostModel,
)

__all__ = [
    "AddToDatabase",
    "EchoStatistics",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
]
