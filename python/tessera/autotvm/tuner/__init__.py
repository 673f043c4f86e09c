"""Tuners: who says which configuration is measured next."""

from . import callback, model_based_tuner, xgboost_cost_model
from .callback import log_to_file, progress_bar
from .ga_tuner import GATuner
from .index_based_tuner import GridSearchTuner, RandomTuner
from .tuner import Tuner
from .xgboost_tuner import XGBTuner

__all__ = [
    "GATuner",
    "GridSearchTuner",
    "RandomTuner",
    "Tuner",
    "XGBTuner",
    "callback",
    "log_to_file",
    "model_based_tuner",
    "progress_bar",
]
