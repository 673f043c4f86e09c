"""Models that say how fast states are before they are measured."""

from .cost_model import CostModel, PythonBasedModel, RandomModel, random_fill_float
from .xgb_model import XGBModel

__all__ = ["CostModel", "PythonBasedModel", "RandomModel", "XGBModel", "random_fill_float"]
